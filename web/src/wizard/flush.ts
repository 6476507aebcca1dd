// SPDX-License-Identifier: Apache-2.0
/** How the frame has a step save what was typed before it goes on. */
import { createContext, type MutableRefObject, useContext, useEffect } from "react";

/** Save; whether everything is with the service. */
export type Flush = () => Promise<boolean>;

export const FlushContext = createContext<MutableRefObject<Flush> | null>(null);

/** Have the frame call this before it leaves the step. */
export function useFlush(flush: Flush): void {
  const place = useContext(FlushContext);
  useEffect(() => {
    if (!place) return;
    place.current = flush;
    return () => {
      place.current = async () => true;
    };
  }, [place, flush]);
}
