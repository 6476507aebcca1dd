// SPDX-License-Identifier: Apache-2.0
/** What the service finds wrong with static networks, a moment after the last key. */
import { useEffect, useState } from "react";
import { checkNetworks } from "../api/calls";
import type { Finding } from "../api/types";
import { AGAIN_MS, isPassing } from "../store/asked";
import { configOf, type StaticHost } from "./statics";

const QUIET_MS = 500;

export interface NetworkCheck {
  state: "idle" | "checking" | "fine" | "bad" | "unchecked";
  hosts: Finding[][];
  all: Finding[];
}

const NOTHING: NetworkCheck = { state: "idle", hosts: [], all: [] };

export function useNetworkCheck(hosts: StaticHost[]): NetworkCheck {
  const [check, setCheck] = useState(NOTHING);
  const text = JSON.stringify(hosts.map(configOf));
  useEffect(() => {
    if (text === "[]") return setCheck(NOTHING);
    let isNow = true;
    setCheck((old) => ({ ...old, state: "checking" }));
    let timer = setTimeout(ask, QUIET_MS);
    function ask(): void {
      checkNetworks({ hosts: JSON.parse(text) as object[] }).then(
        (found) => {
          const own = (found.hosts ?? []).map((each) => [...(each.problems ?? [])]);
          const all = [...(found.problems ?? [])];
          const isFine = [...own.flat(), ...all].length === 0;
          if (isNow) setCheck({ state: isFine ? "fine" : "bad", hosts: own, all });
        },
        (error: unknown) => {
          if (!isNow) return;
          setCheck({ ...NOTHING, state: "unchecked" });
          if (isPassing(error)) timer = setTimeout(ask, AGAIN_MS);
        },
      );
    }
    return () => {
      isNow = false;
      clearTimeout(timer);
    };
  }, [text]);
  return check;
}
