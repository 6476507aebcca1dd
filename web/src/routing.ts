// SPDX-License-Identifier: Apache-2.0
/** Which page an address is, and how to go to another one. */
import { makeStore, useStore } from "./store/store";

export type Route =
  | { page: "clusters" }
  | { page: "new" }
  | { page: "cluster"; id: string; part: string }
  | { page: "unknown" };

const place = makeStore(location.pathname);

export function parseRoute(path: string): Route {
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  if (parts.length === 0) return { page: "clusters" };
  if (parts.length === 1 && parts[0] === "new") return { page: "new" };
  if (parts[0] === "clusters" && parts[1] && parts.length <= 3) {
    return { page: "cluster", id: parts[1], part: parts[2] ?? "" };
  }
  return { page: "unknown" };
}

export function pathOf(id: string, part = ""): string {
  return `/clusters/${id}${part ? `/${part}` : ""}`;
}

export function go(path: string, { replace = false } = {}): void {
  if (path === location.pathname) return;
  history[replace ? "replaceState" : "pushState"](null, "", path);
  place.set(() => path);
  window.scrollTo(0, 0);
}

export function startRouting(): void {
  window.addEventListener("popstate", () => place.set(() => location.pathname));
}

export function useRoute(): Route {
  return parseRoute(useStore(place, (path) => path));
}
