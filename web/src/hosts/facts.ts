// SPDX-License-Identifier: Apache-2.0
/** What a host is made of and what its checks say: JSON in strings, read once for each host as it was told. */
import type { Disk, DiskExtras, Host, Interface, Inventory, Neighbour, Verdict } from "../api/types";
import { t } from "../i18n";

export interface Checks {
  failed: Verdict[];
  waiting: Verdict[];
  passed: Verdict[];
}

const EMPTY: Inventory = {};
const NO_CHECKS: Checks = { failed: [], waiting: [], passed: [] };
const inventories = new Map<string, Inventory>();
const checks = new Map<string, Checks>();
const KEPT = 2000;

function remember<T>(cache: Map<string, T>, text: string, read: () => T): T {
  const found = cache.get(text);
  if (found !== undefined) return found;
  if (cache.size >= KEPT) cache.clear();
  const made = read();
  cache.set(text, made);
  return made;
}

export function parseJson<T>(text: string | null | undefined, without: T): T {
  if (!text) return without;
  try {
    return JSON.parse(text) as T;
  } catch {
    return without;
  }
}

export function inventoryOf(host: Host): Inventory {
  return host.inventory ? remember(inventories, host.inventory, () => parseJson(host.inventory, EMPTY)) : EMPTY;
}

export function checksOf(host: Pick<Host, "validations_info">): Checks {
  const text = host.validations_info;
  return text ? remember(checks, text, () => sortVerdicts(parseJson<Record<string, Verdict[]>>(text, {}))) : NO_CHECKS;
}

function sortVerdicts(found: Record<string, Verdict[]>): Checks {
  const all = Object.values(found).flat();
  return {
    failed: all.filter((each) => each.status === "failure" || each.status === "error"),
    waiting: all.filter((each) => each.status === "pending"),
    passed: all.filter((each) => each.status === "success"),
  };
}

export function nameOf(host: Host): string {
  return host.requested_hostname || inventoryOf(host).hostname || host.id;
}

export function disksOf(host: Host): Disk[] {
  return (inventoryOf(host).disks ?? []).filter((disk) => disk.drive_type !== "ODD" && disk.drive_type !== "FDD");
}

/** What our own agents know of a disk besides. */
export function extrasOf(host: Host, disk: Disk): DiskExtras | undefined {
  return inventoryOf(host).extras?.disks?.find((each) => each.path === disk.path);
}

/** What is at the other end of a card's cable, and what the card is a part of or made of. */
export function cableOf(host: Host, card: Interface): string {
  const { neighbours, links } = inventoryOf(host).extras ?? {};
  const ends = (neighbours ?? []).filter((each) => each.interface === card.name).map(neighbourText);
  const own = (links ?? []).find((each) => each.name === card.name);
  const upper = (links ?? []).find((each) => (each.members ?? []).includes(card.name ?? ""));
  return [
    ...ends,
    own?.members?.length && t("host.cable.of", { kind: own.kind, names: own.members.join(", ") }),
    own?.vlan_id && t("host.cable.vlan", { vlan: own.vlan_id, name: own.parent ?? "" }),
    upper && t("host.cable.in", { name: upper.name }),
  ]
    .filter(Boolean)
    .join("; ");
}

function neighbourText(each: Neighbour): string {
  const port = [each.system_name || each.chassis_id, each.port_id].filter(Boolean).join(" ");
  return each.vlan_id ? t("host.cable.untagged", { port, vlan: each.vlan_id }) : port;
}

export function installDiskOf(host: Host): Disk | undefined {
  const disks = disksOf(host);
  return (
    disks.find((disk) => disk.id === host.installation_disk_id) ??
    disks.find((disk) => disk.path === host.installation_disk_path)
  );
}

/** Addresses of a host without the length of their prefix, by family. */
export function addressesOf(host: Host): { four: string[]; six: string[] } {
  const cards = inventoryOf(host).interfaces ?? [];
  const bare = (texts: readonly string[] | null | undefined) => (texts ?? []).map((each) => each.split("/")[0]!);
  return {
    four: cards.flatMap((card) => bare(card.ipv4_addresses)),
    six: cards.flatMap((card) => bare(card.ipv6_addresses)),
  };
}

/** Names that several hosts have: nodes with one name are one node. */
export function doubledNames(hosts: readonly Host[]): Set<string> {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const host of hosts) {
    const name = nameOf(host);
    (seen.has(name) ? twice : seen).add(name);
  }
  return twice;
}

/** The role that the host will have. */
export function roleOf(host: Host): string {
  if (host.bootstrap && (host.role ?? "auto-assign") !== "worker") return "bootstrap";
  return host.role && host.role !== "auto-assign" ? host.role : (host.suggested_role ?? "auto-assign");
}

const byName = new Intl.Collator("en", { numeric: true });

/** Hosts by name, as people count: node-9 comes before node-10. */
export function sortHosts(hosts: readonly Host[] | null | undefined): Host[] {
  return [...(hosts ?? [])].sort((one, other) => byName.compare(nameOf(one), nameOf(other)));
}
