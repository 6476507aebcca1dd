// SPDX-License-Identifier: Apache-2.0
import type { Cluster } from "../api/types";
export function Topology(_: { cluster: Cluster }) {
  return null;
}
