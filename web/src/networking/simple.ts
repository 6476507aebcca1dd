// SPDX-License-Identifier: Apache-2.0
/** The network that most hosts have, as a form has it: one card, or several as one, with addresses of its own. */
import { contains, isHostAddress, parseAddress, parseNetwork } from "../forms/addresses";
import { splitList, type Fault } from "../forms/checks";
import { t } from "../i18n";

export interface Simple {
  /** MAC addresses; with more than one the cards are a bond. */
  cards: string;
  mode: string;
  vlan: string;
  /** With its prefix, such as 192.0.2.20/24. */
  address4: string;
  gateway4: string;
  address6: string;
  gateway6: string;
  dns: string;
}

export type SimpleFaults = Partial<Record<keyof Simple, Fault>>;

export const MODES = ["active-backup", "802.3ad", "balance-xor"] as const;
export const EMPTY: Simple = { cards: "", mode: MODES[0], vlan: "", address4: "", gateway4: "", address6: "", gateway6: "", dns: "" };

const MAC = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i;
const NOWHERE = { 4: "0.0.0.0/0", 6: "::/0" } as const;
const LARGEST_VLAN = 4094;

/** What is wrong with what was typed. Nothing is wrong with what is not there yet: see `missingIn`. */
export function checkSimple(simple: Simple): SimpleFaults {
  const bad = splitList(simple.cards).find((each) => !MAC.test(each));
  const server = splitList(simple.dns).find((each) => !parseAddress(each));
  const vlan = Number(simple.vlan);
  return {
    cards: bad ? t("simple.bad.card", { mac: bad }) : "",
    vlan: /^\d*$/.test(simple.vlan) && (!simple.vlan || (vlan >= 1 && vlan <= LARGEST_VLAN)) ? "" : t("simple.bad.vlan"),
    address4: checkAddress(simple.address4, 4),
    gateway4: checkGateway(simple.gateway4, simple.address4, 4),
    address6: checkAddress(simple.address6, 6),
    gateway6: checkGateway(simple.gateway6, simple.address6, 6),
    dns: server ? t("simple.bad.dns", { server }) : "",
  };
}

function checkAddress(text: string, family: 4 | 6): Fault {
  if (!text) return "";
  const network = parseNetwork(text);
  if (!network || network.family !== family) return t(family === 4 ? "simple.bad.address4" : "simple.bad.address6");
  const address = parseAddress(text.split("/")[0]!)!;
  return isHostAddress(network, address) ? "" : t("simple.bad.network", { network: text });
}

function checkGateway(text: string, own: string, family: 4 | 6): Fault {
  if (!text) return "";
  const address = parseAddress(text);
  if (!address || address.family !== family) return t("simple.bad.gateway", { gateway: text });
  if (!own) return t("simple.bad.alone");
  const network = parseNetwork(own);
  const isNear = !network || contains(network, address) || /^fe80:/i.test(text);
  return isNear ? "" : t("simple.bad.far", { network: own });
}

/** What a host still needs, or nothing. */
export function missingIn(simple: Simple): string {
  if (!splitList(simple.cards).length) return t("simple.missing.card");
  return simple.address4 || simple.address6 ? "" : t("simple.missing.address");
}

/** A MAC address and a name a line, as the service wants to be told of them. */
export function macsOf(simple: Simple): string {
  return splitList(simple.cards)
    .map((mac, at) => `${mac.toLowerCase()} eth${at}`)
    .join("\n");
}

/** The NMState of it. */
export function yamlOf(simple: Simple): string {
  const cards = splitList(simple.cards).map((_mac, at) => `eth${at}`);
  const base = cards.length > 1 ? "bond0" : "eth0";
  const top = simple.vlan ? `${base}.${simple.vlan}` : base;
  const own = (name: string) => (name === top ? [...addresses(simple.address4, 4), ...addresses(simple.address6, 6)] : []);
  const lines = [
    "interfaces:",
    ...(cards.length ? cards : ["eth0"]).flatMap((name) => [...link(name, "ethernet"), ...own(name)]),
    ...(cards.length > 1 ? [...link(base, "bond"), ...bond(simple.mode, cards), ...own(base)] : []),
    ...(simple.vlan ? [...link(top, "vlan"), "    vlan:", `      base-iface: ${base}`, `      id: ${simple.vlan}`, ...own(top)] : []),
    ...names(splitList(simple.dns)),
    ...routes(simple, top),
  ];
  return `${lines.join("\n")}\n`;
}

function link(name: string, type: string): string[] {
  return [`  - name: ${name}`, `    type: ${type}`, "    state: up"];
}

function bond(mode: string, cards: string[]): string[] {
  return ["    link-aggregation:", `      mode: ${mode}`, "      port:", ...cards.map((name) => `        - ${name}`)];
}

function addresses(text: string, family: 4 | 6): string[] {
  if (!text) return [];
  const [ip = "", prefix = ""] = text.split("/");
  const how = [`    ipv${family}:`, "      enabled: true", "      address:"];
  return [...how, `        - ip: ${quoted(ip)}`, `          prefix-length: ${prefix}`];
}

function names(servers: string[]): string[] {
  if (!servers.length) return [];
  return ["dns-resolver:", "  config:", "    server:", ...servers.map((each) => `      - ${quoted(each)}`)];
}

function routes(simple: Simple, top: string): string[] {
  const ways = ([4, 6] as const).flatMap((family) => {
    const gateway = family === 4 ? simple.gateway4 : simple.gateway6;
    if (!gateway) return [];
    const way = `      next-hop-address: ${quoted(gateway)}`;
    return [`    - destination: ${quoted(NOWHERE[family])}`, way, `      next-hop-interface: ${top}`];
  });
  return ways.length ? ["routes:", "  config:", ...ways] : [];
}

/** What has a colon in it would be something else in YAML. */
function quoted(text: string): string {
  return text.includes(":") ? `"${text}"` : text;
}

/** The form of NMState that a form wrote; null for what a form cannot say. */
export function simpleOf(yaml: string, macs: string): Simple | null {
  const found = (pattern: RegExp) => pattern.exec(yaml)?.[1] ?? "";
  const address = (family: 4 | 6) => {
    const match = new RegExp(`ipv${family}:\\n.*\\n.*\\n +- ip: (\\S+)\\n +prefix-length: (\\d+)`).exec(yaml);
    return match ? `${bare(match[1]!)}/${match[2]}` : "";
  };
  const gateway = (family: 4 | 6) =>
    bare(found(new RegExp(`destination: ${quoted(NOWHERE[family]).replaceAll(".", "\\.")}\\n +next-hop-address: (\\S+)`)));
  const servers = /server:\n((?: {6}- \S+\n)+)/.exec(yaml)?.[1] ?? "";
  const simple = {
    cards: splitLines(macs).map((line) => line.split(/\s/)[0]!).join("\n"),
    mode: found(/^ {6}mode: (\S+)$/m) || MODES[0],
    vlan: found(/^ {6}id: (\d+)$/m),
    address4: address(4),
    gateway4: gateway(4),
    address6: address(6),
    gateway6: gateway(6),
    dns: splitLines(servers).map((line) => bare(line.replace(/^ *- /, ""))).join(" "),
  };
  return yamlOf(simple) === yaml && macsOf(simple) === macs ? simple : null;
}

function bare(text: string): string {
  return text.replaceAll('"', "");
}

function splitLines(text: string): string[] {
  return text.split("\n").filter((line) => line.trim());
}
