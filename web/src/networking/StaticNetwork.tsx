// SPDX-License-Identifier: Apache-2.0
import type { Cluster } from "../api/types";
export function StaticNetwork(_: { cluster: Cluster }) {
  return null;
}
