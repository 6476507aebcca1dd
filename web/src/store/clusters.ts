// SPDX-License-Identifier: Apache-2.0
/** What is known of the clusters: the one place that pages read from. */
import * as calls from "../api/calls";
import { ApiError } from "../api/errors";
import type { Cluster, Host, Why, WizardStep } from "../api/types";
import { reuse } from "./reuse";
import { makeStore, useStore } from "./store";

export interface View {
  cluster?: Cluster;
  steps?: WizardStep[];
  why?: Why;
  /** The service does not know it (any more). */
  isGone?: boolean;
}

export interface Known {
  list?: Cluster[];
  views: Record<string, View>;
}

export const known = makeStore<Known>({ views: {} });
const SINGLY = 8;
const NOTHING: View = {};

/** Put in what came; parts that are the same stay the same objects. */
export function note(id: string, fresh: Partial<View>): void {
  known.set((old) => {
    const before = old.views[id] ?? NOTHING;
    const after = reuse(before, { ...before, ...fresh });
    return after === before ? old : { ...old, views: { ...old.views, [id]: after } };
  });
}

/** Look at everything of a cluster again. */
export async function loadCluster(id: string): Promise<void> {
  try {
    const [cluster, steps, why] = await Promise.all([calls.getCluster(id), calls.getSteps(id), calls.getWhy(id)]);
    note(id, { cluster, steps, why, isGone: false });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) note(id, { isGone: true });
    else throw error;
  }
}

/** Look at what changed: a few hosts are asked for singly, as 200 of them are megabytes. */
export async function loadChanges(id: string, subjects: ReadonlySet<string>): Promise<void> {
  const hosts = known.get().views[id]?.cluster?.hosts ?? [];
  const named = [...subjects].filter((each) => each.startsWith("host/")).map((each) => each.slice(5));
  const changed = named.map((each) => hosts.find((host) => host.id === each));
  if (!hosts.length || named.length > SINGLY || changed.some((each) => !each)) return loadCluster(id);
  try {
    const [bare, steps, why, ...fresh] = await Promise.all([
      calls.getBareCluster(id),
      calls.getSteps(id),
      calls.getWhy(id),
      ...changed.map((host) => calls.getHost(host!)),
    ]);
    if (bare.total_host_count !== hosts.length) return await loadCluster(id);
    note(id, { cluster: { ...bare, hosts: replaceHosts(id, fresh as Host[]) }, steps, why });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return loadCluster(id);
    throw error;
  }
}

function replaceHosts(id: string, fresh: Host[]): Host[] {
  const byId = new Map(fresh.map((host) => [host.id, host]));
  return (known.get().views[id]?.cluster?.hosts ?? []).map((host) => byId.get(host.id) ?? host);
}

export async function loadList(): Promise<void> {
  const list = await calls.listClusters();
  known.set((old) => ({ ...old, list: reuse(old.list, list) }));
}

/** A changed cluster or host is in the answer to the change: everybody sees it at once. */
export function noteCluster(cluster: Cluster): void {
  note(cluster.id, { cluster });
}

export function noteHost(clusterId: string, host: Host): void {
  const cluster = known.get().views[clusterId]?.cluster;
  if (!cluster) return;
  const hosts = (cluster.hosts ?? []).map((each) => (each.id === host.id ? { ...each, ...host } : each));
  note(clusterId, { cluster: { ...cluster, hosts } });
}

export function dropHost(clusterId: string, hostId: string): void {
  const cluster = known.get().views[clusterId]?.cluster;
  if (cluster) {
    note(clusterId, { cluster: { ...cluster, hosts: (cluster.hosts ?? []).filter((each) => each.id !== hostId) } });
  }
}

export function useView(id: string): View {
  return useStore(known, (value) => value.views[id] ?? NOTHING);
}
