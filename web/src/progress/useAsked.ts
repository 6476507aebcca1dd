// SPDX-License-Identifier: Apache-2.0
/** Something that is asked for again whenever what it follows from has changed. */
import { useEffect, useState } from "react";

export function useAsked<T>(ask: () => Promise<T>, follows: readonly unknown[]): { found?: T; error?: unknown } {
  const [state, setState] = useState<{ found?: T; error?: unknown }>({});
  useEffect(() => {
    let isShown = true;
    ask().then(
      (found) => isShown && setState({ found }),
      (error: unknown) => isShown && setState((old) => ({ ...old, error })),
    );
    return () => {
      isShown = false;
    };
  }, follows);
  return state;
}
