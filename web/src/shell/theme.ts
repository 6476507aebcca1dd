// SPDX-License-Identifier: Apache-2.0
/** Light, dark, or whatever the system has. */
import { makeStore } from "../store/store";

export type Theme = "system" | "light" | "dark";
export const THEMES: Theme[] = ["system", "light", "dark"];

const KEY = "muster.theme";
const CLASS = "pf-v6-theme-dark";
const system = () => window.matchMedia?.("(prefers-color-scheme: dark)");
/** Paper is light: what is white on the screen could not be read on it. */
const paper = () => window.matchMedia?.("print");

export const theme = makeStore<Theme>(load());

function load(): Theme {
  try {
    const found = localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : "system";
  } catch {
    return "system";
  }
}

export function isDark(): boolean {
  const wanted = theme.get();
  return wanted === "dark" || (wanted === "system" && Boolean(system()?.matches));
}

function apply(): void {
  document.documentElement.classList.toggle(CLASS, isDark() && !paper()?.matches);
}

export function chooseTheme(wanted: Theme): void {
  try {
    localStorage.setItem(KEY, wanted);
  } catch {
    // A browser that keeps nothing forgets it at the next visit; that is its wish.
  }
  theme.set(() => wanted);
}

export function startTheme(): void {
  theme.follow(apply);
  system()?.addEventListener("change", apply);
  paper()?.addEventListener("change", apply);
  apply();
}
