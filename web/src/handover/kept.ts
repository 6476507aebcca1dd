// SPDX-License-Identifier: Apache-2.0
/** What the page knows stays with the tab: while the service is away it is all there is. */
import { useEffect, useRef } from "react";
import type { Farewell, Timeline } from "../api/types";

export interface Kept {
  timeline?: Timeline;
  farewell?: Farewell;
}

const KEY = "muster.kept.";

function load(id: string): Kept {
  try {
    return JSON.parse(sessionStorage.getItem(KEY + id) ?? "{}") as Kept;
  } catch {
    return {};
  }
}

function save(id: string, kept: Kept): void {
  try {
    sessionStorage.setItem(KEY + id, JSON.stringify(kept));
  } catch {
    // The browser keeps nothing: then it is in memory only.
  }
}

/** What was last heard, or what was kept from before. */
export function useKept(id: string, fresh: Kept): Kept {
  const kept = useRef<Kept>();
  kept.current ??= load(id);
  const now: Kept = {
    timeline: fresh.timeline ?? kept.current.timeline,
    farewell: fresh.farewell ?? kept.current.farewell,
  };
  kept.current = now;
  useEffect(() => save(id, now), [id, now.timeline, now.farewell]);
  return now;
}
