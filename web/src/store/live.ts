// SPDX-License-Identifier: Apache-2.0
/** Keeps what is shown true: by the stream of changes, or by asking again where there is no stream. */
import { useEffect } from "react";
import { API } from "../api/client";
import { t } from "../i18n";
import { session } from "../session/session";
import { now } from "./clock";
import { loadChanges, loadCluster, loadList } from "./clusters";
import { loadService } from "./service";
import { makeStore, useStore } from "./store";

export interface Link {
  /** live: by the stream; asking: again and again; lost: nobody answers. */
  state: "starting" | "live" | "asking" | "lost";
  /** When the service last answered. */
  heardAt: number;
  tries: number;
}

export const link = makeStore<Link>({ state: "starting", heardAt: 0, tries: 0 });

/** Why nothing can be asked of the service now; what would fail is not offered. */
export function useAway(): string | undefined {
  return useStore(link, (value) => value.state) === "lost" ? t("link.lost.long") : undefined;
}

/** Somebody else on the page says that the service is away, and why: one word about it is enough. */
export const isAwayExplained = makeStore(false);

const GATHER_MS = 250;
const ASK_MS = 5000;
const LOST_MS = 3000;
/** What pages look at: "list", or the id of a cluster; how many look at it. */
const watched = new Map<string, number>();
const changed = new Map<string, Set<string>>();
let stream: EventSource | undefined;
let gathering: ReturnType<typeof setTimeout> | undefined;
let asking: ReturnType<typeof setTimeout> | undefined;
let busy = false;

function heard(state: "live" | "asking"): void {
  link.set(() => ({ state, heardAt: now(), tries: 0 }));
}

function isOpen(): boolean {
  return stream?.readyState === EventSource.OPEN;
}

async function load(): Promise<void> {
  await loadService();
  const jobs = [...watched.keys()].map((each) => (each === "list" ? loadList() : loadCluster(each)));
  await Promise.all(jobs);
}

async function loadChanged(): Promise<void> {
  const jobs = [...changed].map(([id, subjects]) => {
    if (id === "list") return loadList();
    return subjects.has("*") ? loadCluster(id) : loadChanges(id, subjects);
  });
  changed.clear();
  await Promise.all(jobs);
}

/** One look at a time: what changes in the meantime is looked at afterwards. */
async function flush(job: () => Promise<void>): Promise<void> {
  if (busy) return job === load ? markAll() : gather();
  busy = true;
  try {
    await job();
    if (job === load || watched.size) heard(isOpen() ? "live" : "asking"); // Else nobody was asked.
  } catch {
    lose();
  } finally {
    busy = false;
  }
}

function gather(): void {
  gathering ??= setTimeout(() => {
    gathering = undefined;
    void flush(loadChanged);
  }, GATHER_MS);
}

function mark(id: string, ...subjects: string[]): void {
  if (!watched.has(id)) return;
  const set = changed.get(id) ?? new Set<string>();
  for (const each of subjects) set.add(each);
  changed.set(id, set);
  gather();
}

function markAll(): void {
  for (const each of watched.keys()) mark(each, "*");
}

function lose(): void {
  link.set((old) => ({ ...old, state: "lost", tries: old.tries + 1 }));
  askSoon(LOST_MS);
}

function askSoon(inMs: number): void {
  asking ??= setTimeout(() => {
    asking = undefined;
    if (isOpen() && link.get().state === "live") return;
    void flush(load).then(() => {
      if (stream?.readyState === EventSource.CLOSED) open();
      askSoon(ASK_MS);
    });
  }, inMs);
}

function open(): void {
  stream?.close();
  if (document.hidden || session.store.get().phase !== "in") return;
  stream = new EventSource(`${API}/stream`);
  stream.onopen = () => void flush(load);
  stream.onerror = () => askSoon(LOST_MS);
  stream.addEventListener("reset", markAll);
  stream.addEventListener("change", (event) => {
    const news = JSON.parse((event as MessageEvent<string>).data) as { realm: string; subjects: string[] };
    mark(news.realm, ...news.subjects);
    mark("list", "*");
  });
}

/** A hidden tab needs no connection: browsers give a site only six of them. */
function onVisibility(): void {
  if (document.hidden) stream?.close();
  else open();
}

export function startLive(): void {
  document.addEventListener("visibilitychange", onVisibility);
  session.store.follow(() => {
    if (session.store.get().phase === "in" && stream?.readyState !== EventSource.OPEN) open();
  });
  open();
}

/** Try again now, as somebody asked for it. */
export function retryNow(): void {
  clearTimeout(asking);
  asking = undefined;
  askSoon(0);
}

/** Keep a cluster, or the list of clusters, true while a component is shown. */
export function useLive(what: string): void {
  useEffect(() => {
    watched.set(what, (watched.get(what) ?? 0) + 1);
    mark(what, "*");
    return () => {
      const left = (watched.get(what) ?? 1) - 1;
      if (left) watched.set(what, left);
      else watched.delete(what);
    };
  }, [what]);
}
