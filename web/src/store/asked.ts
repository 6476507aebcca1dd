// SPDX-License-Identifier: Apache-2.0
/** Something that the service is asked for: again when what it follows from has changed, and until it answers. */
import { useCallback, useEffect, useState } from "react";
import { ApiError, Unreachable } from "../api/errors";

/** How soon somebody is asked again who did not answer. */
export const AGAIN_MS = 2000;

export interface Asked<T> {
  found?: T;
  error?: unknown;
  /** Ask once more, as something was changed. */
  again: () => void;
}

export function useAsked<T>(ask: () => Promise<T>, follows: readonly unknown[]): Asked<T> {
  const [state, setState] = useState<{ found?: T; error?: unknown }>({});
  const [times, setTimes] = useState(0);
  const again = useCallback(() => setTimes((old) => old + 1), []);
  useEffect(() => {
    let isShown = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    ask().then(
      (found) => isShown && setState({ found }),
      (error: unknown) => {
        if (!isShown) return;
        setState((old) => ({ ...old, error }));
        if (isPassing(error)) timer = setTimeout(again, AGAIN_MS);
      },
    );
    return () => {
      isShown = false;
      clearTimeout(timer);
    };
  }, [...follows, times]);
  return { ...state, again };
}

/** Whether it is the service that has a moment of trouble, and not the question that is wrong. */
export function isPassing(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof ApiError && error.status >= 500);
}
