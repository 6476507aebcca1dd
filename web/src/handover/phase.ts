// SPDX-License-Identifier: Apache-2.0
/** Where in the restart of the rendezvous host we are. */
import type { Cluster, Farewell, Service } from "../api/types";
import type { Link } from "../store/live";

export type Phase = "none" | "before" | "away";

const RUNNING: Cluster["status"][] = ["installing", "finalizing"];
/** From these stages of the rendezvous host on, its silence is what is to be expected. */
const LATE = ["Waiting for control plane", "Waiting for controller", "Waiting for bootkube", "Rebooting"];

export function isLeaving(cluster: Cluster, farewell?: Farewell): boolean {
  const stage = cluster.hosts?.find((each) => each.bootstrap)?.progress?.current_stage;
  return Boolean(farewell?.rendezvous?.left) || stage === "Rebooting";
}

/** Only where the service runs on one of the hosts that it installs does anything go away. */
export function phaseOf(cluster: Cluster, farewell: Farewell | undefined, state: Link["state"], mode: Service["mode"]): Phase {
  const rendezvous = farewell?.rendezvous;
  if (!RUNNING.includes(cluster.status) || !rendezvous || mode === "many") return "none";
  const stage = cluster.hosts?.find((each) => each.id === rendezvous.host_id)?.progress?.current_stage ?? rendezvous.stage ?? "";
  const isLate = rendezvous.left || LATE.includes(stage);
  if (state === "lost") return isLate ? "away" : "none";
  return mode === "status" ? "none" : "before";
}
