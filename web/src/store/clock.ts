// SPDX-License-Identifier: Apache-2.0
/** The time by the clock of the service: that of the browser may be wrong by hours. */
import { useEffect, useState } from "react";

let offset = 0;

/** The service said what time it is. A few seconds are the way of the answer, not the clock. */
export function noteTime(time: number): void {
  if (Number.isNaN(time)) return;
  const found = time - Date.now();
  offset = Math.abs(found) < 3000 ? 0 : found;
}

export function now(): number {
  return Date.now() + offset;
}

/** The time, again and again. */
export function useNow(everyMs = 1000): number {
  const [time, setTime] = useState(now);
  useEffect(() => {
    const timer = setInterval(() => setTime(now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return time;
}

/** Seconds since a moment that the service named. */
export function secondsSince(text: string, time: number): number {
  return (time - Date.parse(text)) / 1000;
}
