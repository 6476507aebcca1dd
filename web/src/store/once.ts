// SPDX-License-Identifier: Apache-2.0
/** Things of the service that do not change while it runs: asked for once, by the first who needs them. */
import { useEffect, useState } from "react";
import { getCheckTexts, getService } from "../api/calls";
import type { CheckTexts, Service } from "../api/types";

const ALONE: Partial<Service> & Pick<Service, "mode"> = { mode: "many" };
const NO_TEXTS: CheckTexts = { host: {}, cluster: {} };

function once<T>(ask: () => Promise<T>, without: T): () => T {
  let found: T | undefined;
  let asking: Promise<T> | undefined;
  return () => {
    const [value, setValue] = useState(found ?? without);
    useEffect(() => {
      if (found) return setValue(found);
      let isShown = true;
      asking ??= ask();
      asking.then(
        (answer) => {
          found = answer;
          if (isShown) setValue(answer);
        },
        () => {
          asking = undefined;
        },
      );
      return () => {
        isShown = false;
      };
    }, []);
    return value;
  };
}

export const useService = once<typeof ALONE>(getService, ALONE);
export const useCheckTexts = once(getCheckTexts, NO_TEXTS);
