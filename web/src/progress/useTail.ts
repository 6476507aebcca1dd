// SPDX-License-Identifier: Apache-2.0
/** The journal of a host as it is written: each request waits at the service until there are more lines. */
import { useEffect, useState } from "react";
import { getHostLog } from "../api/calls";

export const LINES = 300;
/** How long a request may wait at the service. */
const WAIT_S = 25;
/** How soon a host is asked for again that sent its log as a file, or a service that did not answer. */
const AGAIN_MS = 5000;

export interface Tail {
  lines: readonly string[];
  /** The host tells its lines as it writes them. */
  isLive: boolean;
  /** There is a log, though no line of it may have what is looked for. */
  isThere: boolean;
  error?: unknown;
}

const NOTHING: Tail = { lines: [], isLive: false, isThere: false };

export function useTail(clusterId: string, hostId: string, filter: string): Tail {
  const [tail, setTail] = useState(NOTHING);
  useEffect(() => {
    const ended = new AbortController();
    setTail(NOTHING);
    void follow(clusterId, hostId, filter, ended.signal, setTail);
    return () => ended.abort();
  }, [clusterId, hostId, filter]);
  return tail;
}

/** Read along until nobody looks any more. What went wrong is begun anew: the service may be another one. */
async function follow(
  clusterId: string,
  hostId: string,
  filter: string,
  signal: AbortSignal,
  show: (change: (old: Tail) => Tail) => void,
): Promise<void> {
  const query = { lines: String(LINES), filter };
  let after = 0;
  while (!signal.aborted) {
    try {
      const asked = after ? { wait: WAIT_S, signal } : { signal };
      const found = await getHostLog(clusterId, hostId, after ? { ...query, after: String(after) } : query, asked);
      if (signal.aborted) return;
      const isMore = after > 0 && (found.next ?? 0) >= after;
      show((old) => ({
        lines: isMore ? [...old.lines, ...found.lines].slice(-LINES) : found.lines,
        isLive: Boolean(found.live),
        isThere: Boolean(found.live || found.file),
      }));
      after = found.live ? (found.next ?? 0) : 0;
      if (!after) await pause(signal);
    } catch (error) {
      if (signal.aborted) return;
      show((old) => ({ ...old, error }));
      after = 0;
      await pause(signal);
    }
  }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, AGAIN_MS);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
