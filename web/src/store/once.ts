// SPDX-License-Identifier: Apache-2.0
/** The texts of all checks, which do not change while a service runs: asked for by the first who needs them. */
import { useEffect } from "react";
import { getCheckTexts } from "../api/calls";
import type { CheckTexts } from "../api/types";
import { makeStore, useStore } from "./store";

const texts = makeStore<CheckTexts>({ host: {}, cluster: {} });
let asking: Promise<void> | undefined;

export function useCheckTexts(): CheckTexts {
  useEffect(() => {
    asking ??= getCheckTexts().then(
      (found) => texts.set(() => found),
      () => {
        asking = undefined;
      },
    );
  }, []);
  return useStore(texts, (value) => value);
}
