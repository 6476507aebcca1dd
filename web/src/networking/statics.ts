// SPDX-License-Identifier: Apache-2.0
/** The static network of hosts as a form has it, and as the service has it. */
import type { HostNetworkConfig } from "../api/types";
import { parseJson } from "../hosts/facts";
import { t } from "../i18n";
import { EMPTY, macsOf, simpleOf, yamlOf, type Simple } from "./simple";

export interface StaticHost {
  /** Tells fields of the form apart. */
  key: number;
  yaml: string;
  /** A MAC address and a name a line. */
  macs: string;
  /** What the form has; then the two above follow from it. */
  simple?: Simple;
}

export const EMPTY_HOST: StaticHost = { key: 0, yaml: "", macs: "", simple: EMPTY };

const LINE = /^([0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5})[\s,=]+(\S+)$/;

export function parseHosts(text: string | null | undefined): StaticHost[] {
  return parseJson<HostNetworkConfig[]>(text, []).map((each, key) => {
    const yaml = each.network_yaml ?? "";
    const macs = (each.mac_interface_map ?? []).map((one) => `${one.mac_address} ${one.logical_nic_name}`).join("\n");
    return { key, yaml, macs, simple: simpleOf(yaml, macs) ?? undefined };
  });
}

/** The same host as YAML, to be changed in ways that the form does not know. */
export function asYaml(host: StaticHost): StaticHost {
  return host.simple ? { key: host.key, yaml: yamlOf(host.simple), macs: macsOf(host.simple) } : host;
}

/** The same host as a form; as it is, if the form cannot say all of it. */
export function asForm(host: StaticHost): StaticHost {
  return { ...host, simple: simpleOf(host.yaml, host.macs) ?? undefined };
}

export function configOf(host: StaticHost): HostNetworkConfig {
  const { yaml, macs } = asYaml(host);
  const lines = macs.split("\n").map((line) => LINE.exec(line.trim()));
  return {
    network_yaml: yaml,
    mac_interface_map: lines
      .filter((found) => found !== null)
      .map((found) => ({ mac_address: found[1]!.toLowerCase(), logical_nic_name: found[2]! })),
  };
}

export function checkMacs(text: string): string {
  const bad = text.split("\n").findIndex((line) => line.trim() && !LINE.test(line.trim()));
  return bad < 0 ? "" : t("static.macs.bad", { line: bad + 1 });
}
