// SPDX-License-Identifier: Apache-2.0
/** The texts of all checks, which do not change while a service runs: asked for by the first who needs them. */
import { useEffect } from "react";
import { getCheckTexts } from "../api/calls";
import type { CheckTexts } from "../api/types";
import { AGAIN_MS, isPassing } from "./asked";
import { makeStore, useStore } from "./store";

const texts = makeStore<CheckTexts>({ host: {}, cluster: {} });
let isAsked = false;

function load(): void {
  isAsked = true;
  getCheckTexts().then(
    (found) => texts.set(() => found),
    (error: unknown) => isPassing(error) && setTimeout(load, AGAIN_MS),
  );
}

export function useCheckTexts(): CheckTexts {
  useEffect(() => {
    if (!isAsked) load();
  }, []);
  return useStore(texts, (value) => value);
}
