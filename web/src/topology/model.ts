// SPDX-License-Identifier: Apache-2.0
/** Hosts, networks and virtual addresses: what was intended, and what the hosts have seen. */
import type { Cluster, ConnectivityReport, Host, Verdict } from "../api/types";
import { contains, parseAddress, parseNetwork } from "../forms/addresses";
import { checksOf, inventoryOf, nameOf, parseJson, sortHosts } from "../hosts/facts";

export interface Net {
  cidr: string;
  isMachine: boolean;
}

export interface Node {
  id: string;
  name: string;
  /** By network: the address and card that the host has there. */
  places: Map<string, string>;
  isIn: boolean;
}

export interface Vip {
  kind: "api" | "ingress";
  ip: string;
  state: "free" | "taken" | "unknown";
  network?: string;
}

export interface Picture {
  nets: Net[];
  nodes: Node[];
  vips: Vip[];
}

export function pictureOf(cluster: Cluster): Picture {
  const machine = (cluster.machine_networks ?? []).map((each) => each.cidr ?? "");
  const seen = (cluster.host_networks ?? []).map((each) => each.cidr ?? "");
  const nets = [...new Set([...machine, ...seen])].filter(Boolean).map((cidr) => ({ cidr, isMachine: machine.includes(cidr) }));
  const nodes = sortHosts(cluster.hosts).map((host) => nodeOf(host, nets));
  return { nets, nodes, vips: vipsOf(cluster, nets) };
}

function nodeOf(host: Host, nets: Net[]): Node {
  const places = new Map<string, string>();
  for (const card of inventoryOf(host).interfaces ?? []) {
    for (const text of [...(card.ipv4_addresses ?? []), ...(card.ipv6_addresses ?? [])]) {
      const ip = text.split("/")[0]!;
      const net = netOf(ip, nets);
      if (net && !places.has(net)) places.set(net, `${ip} (${card.name})`);
    }
  }
  const machine = nets.filter((net) => net.isMachine);
  return { id: host.id, name: nameOf(host), places, isIn: machine.every((net) => places.has(net.cidr)) };
}

function netOf(ip: string, nets: Net[]): string | undefined {
  const address = parseAddress(ip);
  return nets.find((net) => {
    const parsed = parseNetwork(net.cidr);
    return address && parsed && contains(parsed, address);
  })?.cidr;
}

function vipsOf(cluster: Cluster, nets: Net[]): Vip[] {
  const { failed, passed } = checksOf(cluster);
  const stateOf = (id: string): Vip["state"] =>
    passed.some((each: Verdict) => each.id === id) ? "free" : failed.some((each: Verdict) => each.id === id) ? "taken" : "unknown";
  const make = (kind: Vip["kind"], list: readonly { ip?: string | null }[] | null | undefined) =>
    (list ?? []).map(({ ip }) => ({ kind, ip: ip ?? "", state: stateOf(`${kind}-vips-valid`), network: netOf(ip ?? "", nets) }));
  return [...make("api", cluster.api_vips), ...make("ingress", cluster.ingress_vips)];
}

export interface Reach {
  isReached: boolean;
  ms?: number;
  loss?: number;
}

/** From host to host: whether packets get through, how long they take, how many are lost. */
export function reachOf(hosts: readonly Host[]): Map<string, Reach> {
  const found = new Map<string, Reach>();
  for (const host of hosts) {
    for (const peer of parseJson<ConnectivityReport>(host.connectivity, {}).remote_hosts ?? []) {
      const tries = [...(peer.l3_connectivity ?? [])];
      const good = tries.filter((each) => each.successful);
      const best = good[0];
      const near = (peer.l2_connectivity ?? []).some((each) => each.successful);
      found.set(`${host.id} ${peer.host_id}`, {
        isReached: good.length > 0 || near,
        ms: best?.average_rtt_ms ?? undefined,
        loss: best?.packet_loss_percentage ?? undefined,
      });
    }
  }
  return found;
}
