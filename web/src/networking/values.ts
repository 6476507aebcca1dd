// SPDX-License-Identifier: Apache-2.0
/** The network of a cluster as a form has it, and as the service has it. */
import type { Cluster, ClusterDefaults, ClusterUpdate } from "../api/types";
import { overlap, parseAddress, parseNetwork } from "../forms/addresses";
import { checkCidr, checkSshKey, checkVip, type Fault } from "../forms/checks";
import { t } from "../i18n";

export interface Values {
  /** Whether the user brings load balancers and DNS. */
  isOwn: boolean;
  isDual: boolean;
  /** The first of each kind, and the second with two stacks. */
  machine1: string;
  machine2: string;
  api1: string;
  api2: string;
  ingress1: string;
  ingress2: string;
  pods1: string;
  pods2: string;
  prefix1: string;
  prefix2: string;
  services1: string;
  services2: string;
  ssh: string;
}

export type Faults = Partial<Record<keyof Values, Fault>>;

export function isSingle(cluster: Cluster): boolean {
  return cluster.control_plane_count === 1;
}

export function valuesOf(cluster: Cluster): Values {
  const at = <T,>(list: readonly T[] | null | undefined, index: number) => list?.[index];
  const prefix = (index: number) => String(at(cluster.cluster_networks, index)?.host_prefix ?? "");
  return {
    isOwn: Boolean(cluster.user_managed_networking),
    isDual: (cluster.service_networks?.length ?? 0) > 1 || (cluster.cluster_networks?.length ?? 0) > 1,
    machine1: at(cluster.machine_networks, 0)?.cidr ?? "",
    machine2: at(cluster.machine_networks, 1)?.cidr ?? "",
    api1: at(cluster.api_vips, 0)?.ip ?? "",
    api2: at(cluster.api_vips, 1)?.ip ?? "",
    ingress1: at(cluster.ingress_vips, 0)?.ip ?? "",
    ingress2: at(cluster.ingress_vips, 1)?.ip ?? "",
    pods1: at(cluster.cluster_networks, 0)?.cidr ?? "",
    pods2: at(cluster.cluster_networks, 1)?.cidr ?? "",
    prefix1: prefix(0),
    prefix2: prefix(1),
    services1: at(cluster.service_networks, 0)?.cidr ?? "",
    services2: at(cluster.service_networks, 1)?.cidr ?? "",
    ssh: cluster.ssh_public_key ?? "",
  };
}

/** What is wrong with what was typed. Nothing is wrong with what is not there yet: the step says what is missing. */
export function checkValues(value: Values, known: readonly string[]): Faults {
  const machines = [value.machine1, value.machine2].filter(Boolean);
  const networks = machines.length ? machines : [...known];
  const vip = (text: string) => (text ? checkVip(text, networks) : "");
  const cidr = (text: string) => (text ? checkCidr(text) : "");
  const faults: Faults = {
    machine1: cidr(value.machine1),
    machine2: cidr(value.machine2),
    api1: vip(value.api1),
    api2: vip(value.api2),
    ingress1: vip(value.ingress1) || same(value.api1, value.ingress1),
    ingress2: vip(value.ingress2) || same(value.api2, value.ingress2),
    pods1: checkCidr(value.pods1) || clash(value.pods1, [value.services1, ...machines]),
    services1: checkCidr(value.services1) || clash(value.services1, [value.pods1, ...machines]),
    prefix1: checkPrefix(value.prefix1, value.pods1),
    ssh: checkSshKey(value.ssh),
  };
  if (value.isDual) {
    faults.pods2 = cidr(value.pods2);
    faults.services2 = cidr(value.services2);
    faults.prefix2 = value.prefix2 ? checkPrefix(value.prefix2, value.pods2) : "";
  }
  return faults;
}

function same(one: string, other: string): Fault {
  return one && parseAddress(one)?.value === parseAddress(other)?.value ? t("check.vip.same") : "";
}

function clash(text: string, others: string[]): Fault {
  const own = parseNetwork(text);
  const other = others.find((each) => {
    const parsed = parseNetwork(each);
    return own && parsed && overlap(own, parsed);
  });
  return other ? t("check.overlap", { other }) : "";
}

function checkPrefix(text: string, pods: string): Fault {
  const network = parseNetwork(pods);
  const to = network?.family === 6 ? 128 : 32;
  const from = (network?.prefix ?? 0) + 1;
  const number = /^\d+$/.test(text) ? Number(text) : NaN;
  return number >= from && number <= to ? "" : t("check.prefix", { from, to });
}

const GROUPS = {
  machine_networks: ["machine1", "machine2"],
  api_vips: ["api1", "api2"],
  ingress_vips: ["ingress1", "ingress2"],
  cluster_networks: ["pods1", "pods2", "prefix1", "prefix2"],
  service_networks: ["services1", "services2"],
} as const satisfies Record<string, readonly (keyof Values)[]>;

/** What changed, as the service takes it: lists as a whole, and only when nothing in them is wrong. */
export function paramsOf(changed: Partial<Values>, whole: Values, known: readonly string[]): ClusterUpdate {
  const faults = checkValues(whole, known);
  const params: Record<string, unknown> = {};
  if (changed.isOwn !== undefined) params.user_managed_networking = changed.isOwn;
  if (changed.ssh !== undefined) params.ssh_public_key = changed.ssh.trim();
  for (const [name, fields] of Object.entries(GROUPS)) {
    const isTouched = fields.some((field) => changed[field] !== undefined) || changed.isDual !== undefined;
    if (isTouched && !fields.some((field) => faults[field])) params[name] = listOf(name, whole);
  }
  return params as ClusterUpdate;
}

function listOf(name: string, value: Values): object[] {
  const two = value.isDual ? [1, 2] : [1];
  const each = (at: number): object => {
    const pick = (field: string) => value[`${field}${at}` as keyof Values] as string;
    switch (name) {
      case "machine_networks":
        return { cidr: pick("machine") };
      case "api_vips":
        return { ip: pick("api") };
      case "ingress_vips":
        return { ip: pick("ingress") };
      case "cluster_networks":
        return { cidr: pick("pods"), host_prefix: Number(pick("prefix")) };
      default:
        return { cidr: pick("services") };
    }
  };
  return two.map(each).filter((made) => Object.values(made)[0] !== "");
}

/** The values that a second stack begins with. */
export function secondStack(value: Values, defaults: ClusterDefaults): Partial<Values> {
  const pods = defaults.cluster_networks_dualstack?.[1];
  const services = defaults.service_networks_dualstack?.[1];
  return {
    isDual: true,
    pods2: value.pods2 || pods?.cidr || "",
    prefix2: value.prefix2 || String(pods?.host_prefix ?? ""),
    services2: value.services2 || services?.cidr || "",
  };
}
