// SPDX-License-Identifier: Apache-2.0
/** The static network of hosts as a form has it, and as the service has it. */
import type { HostNetworkConfig } from "../api/types";
import { parseJson } from "../hosts/facts";
import { t } from "../i18n";

export interface StaticHost {
  /** Tells fields of the form apart. */
  key: number;
  yaml: string;
  /** A MAC address and a name a line. */
  macs: string;
}

export const EMPTY_HOST: StaticHost = {
  key: 0,
  yaml: `interfaces:
  - name: eth0
    type: ethernet
    state: up
    ipv4:
      enabled: true
      address:
        - ip: 192.0.2.20
          prefix-length: 24
dns-resolver:
  config:
    server:
      - 192.0.2.1
routes:
  config:
    - destination: 0.0.0.0/0
      next-hop-address: 192.0.2.1
      next-hop-interface: eth0
`,
  macs: "",
};

const LINE = /^([0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5})[\s,=]+(\S+)$/;

export function parseHosts(text: string | null | undefined): StaticHost[] {
  return parseJson<HostNetworkConfig[]>(text, []).map((each, key) => ({
    key,
    yaml: each.network_yaml ?? "",
    macs: (each.mac_interface_map ?? []).map((one) => `${one.mac_address} ${one.logical_nic_name}`).join("\n"),
  }));
}

export function configOf(host: StaticHost): HostNetworkConfig {
  const lines = host.macs.split("\n").map((line) => LINE.exec(line.trim()));
  return {
    network_yaml: host.yaml,
    mac_interface_map: lines
      .filter((found) => found !== null)
      .map((found) => ({ mac_address: found[1]!.toLowerCase(), logical_nic_name: found[2]! })),
  };
}

export function checkMacs(text: string): string {
  const bad = text.split("\n").findIndex((line) => line.trim() && !LINE.test(line.trim()));
  return bad < 0 ? "" : t("static.macs.bad", { line: bad + 1 });
}
