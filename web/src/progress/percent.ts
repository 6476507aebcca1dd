// SPDX-License-Identifier: Apache-2.0
/** How far a host is within its stage, where it says so in words. */
import type { Host } from "../api/types";

export function percentOf(host: Host): number | undefined {
  const found = /(\d{1,3})\s?%/.exec(host.progress?.progress_info ?? "");
  return found ? Math.min(100, Number(found[1])) : undefined;
}
