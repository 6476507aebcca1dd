// SPDX-License-Identifier: Apache-2.0
/** What a host is: its checks, its make, its cards and its disks. */
import {
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
} from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import type { Host } from "../api/types";
import { t } from "../i18n";
import { dayTime, memory, size } from "../i18n/time";
import { cableOf, checksOf, disksOf, inventoryOf } from "./facts";
import { CheckList } from "./CheckList";

export function HostDetails({ host }: { host: Host }) {
  const found = inventoryOf(host);
  const vendor = found.system_vendor;
  return (
    <div className="app-host-details">
      <CheckList checks={checksOf(host)} of="host" />
      <DescriptionList isCompact columnModifier={{ default: "2Col", xl: "3Col" }}>
        <Fact name={t("host.make")} text={[vendor?.manufacturer, vendor?.product_name].filter(Boolean).join(" ")} />
        <Fact name={t("host.serial")} text={vendor?.serial_number} />
        <Fact name={t("host.cpu")} text={cpuText(host)} />
        <Fact name={t("host.memory")} text={found.memory?.physical_bytes ? memory(found.memory.physical_bytes) : ""} />
        <Fact name={t("host.boot")} text={[found.boot?.current_boot_mode, secureBoot(host)].filter(Boolean).join(", ")} />
        <Fact name={t("host.tpm")} text={found.tpm_version} />
        <Fact name={t("host.bmc")} text={bmcText(host)} />
        <Fact name={t("host.seen")} text={dayTime(host.created_at)} />
        <Fact name={t("host.id")} text={host.id} />
      </DescriptionList>
      <Cards host={host} />
      <Disks host={host} />
    </div>
  );
}

function cpuText(host: Host): string {
  const cpu = inventoryOf(host).cpu;
  return cpu?.count ? t("host.cpu.text", { count: cpu.count, model: cpu.model_name ?? "", architecture: cpu.architecture ?? "" }) : "";
}

function bmcText(host: Host): string {
  const address = inventoryOf(host).bmc_address;
  return address && address !== "0.0.0.0" ? address : "";
}

function secureBoot(host: Host): string {
  return inventoryOf(host).boot?.secure_boot_state === "Enabled" ? t("host.secureboot") : "";
}

function Fact({ name, text }: { name: string; text?: string | null }) {
  return (
    <DescriptionListGroup>
      <DescriptionListTerm>{name}</DescriptionListTerm>
      <DescriptionListDescription>{text || t("app.unknown")}</DescriptionListDescription>
    </DescriptionListGroup>
  );
}

function Cards({ host }: { host: Host }) {
  const cards = inventoryOf(host).interfaces ?? [];
  return (
    <Table variant="compact" borders={false} aria-label={t("host.cards")}>
      <Thead>
        <Tr>
          <Th>{t("host.card")}</Th>
          <Th>{t("host.mac")}</Th>
          <Th>{t("host.ipv4")}</Th>
          <Th>{t("host.ipv6")}</Th>
          <Th>{t("host.speed")}</Th>
          <Th>{t("host.cable")}</Th>
        </Tr>
      </Thead>
      <Tbody>
        {cards.map((card) => (
          <Tr key={card.name}>
            <Td dataLabel={t("host.card")}>{card.name}</Td>
            <Td dataLabel={t("host.mac")}>{card.mac_address}</Td>
            <Td dataLabel={t("host.ipv4")}>{(card.ipv4_addresses ?? []).join(", ") || "–"}</Td>
            <Td dataLabel={t("host.ipv6")}>{(card.ipv6_addresses ?? []).join(", ") || "–"}</Td>
            <Td dataLabel={t("host.speed")}>
              {card.has_carrier === false ? t("host.nocarrier") : (card.speed_mbps ?? 0) > 0 ? `${card.speed_mbps} Mbit/s` : "–"}
            </Td>
            <Td dataLabel={t("host.cable")}>{cableOf(host, card) || "–"}</Td>
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}

function Disks({ host }: { host: Host }) {
  return (
    <Table variant="compact" borders={false} aria-label={t("host.disks")}>
      <Thead>
        <Tr>
          <Th>{t("host.disk")}</Th>
          <Th>{t("host.size")}</Th>
          <Th>{t("host.type")}</Th>
          <Th>{t("host.model")}</Th>
          <Th>{t("host.serial")}</Th>
        </Tr>
      </Thead>
      <Tbody>
        {disksOf(host).map((disk) => (
          <Tr key={disk.id ?? disk.path}>
            <Td dataLabel={t("host.disk")}>{disk.name}</Td>
            <Td dataLabel={t("host.size")}>{size(disk.size_bytes ?? 0)}</Td>
            <Td dataLabel={t("host.type")}>{disk.drive_type}</Td>
            <Td dataLabel={t("host.model")}>{disk.model}</Td>
            <Td dataLabel={t("host.serial")}>{disk.serial}</Td>
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}
