// SPDX-License-Identifier: Apache-2.0
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import type { Host } from "../api/types";
import { addressesOf, installDiskOf, inventoryOf, nameOf, roleOf } from "../hosts/facts";
import { HostStatus } from "../hosts/HostStatus";
import { t, tw } from "../i18n";
import { memory, size } from "../i18n/time";

export function HostSummary({ hosts }: { hosts: readonly Host[] }) {
  return (
    <Table variant="compact" aria-label={t("review.hosts")}>
      <Thead>
        <Tr>
          <Th>{t("host.name")}</Th>
          <Th>{t("host.role")}</Th>
          <Th>{t("review.address")}</Th>
          <Th>{t("host.cores")}</Th>
          <Th>{t("host.memory")}</Th>
          <Th modifier="wrap">{t("review.disk")}</Th>
          <Th>{t("host.status")}</Th>
        </Tr>
      </Thead>
      <Tbody>
        {hosts.map((host) => {
          const found = inventoryOf(host);
          const disk = installDiskOf(host);
          const { four, six } = addressesOf(host);
          return (
            <Tr key={host.id}>
              <Td dataLabel={t("host.name")}>{nameOf(host)}</Td>
              <Td dataLabel={t("host.role")}>{tw("host.role", roleOf(host))}</Td>
              <Td dataLabel={t("review.address")}>{[four[0], six[0]].filter(Boolean).join(", ")}</Td>
              <Td dataLabel={t("host.cores")}>{found.cpu?.count}</Td>
              <Td dataLabel={t("host.memory")}>{found.memory?.physical_bytes ? memory(found.memory.physical_bytes) : ""}</Td>
              <Td dataLabel={t("review.disk")}>
                {disk ? [disk.name, size(disk.size_bytes ?? 0), disk.serial].filter(Boolean).join(", ") : t("app.unknown")}
              </Td>
              <Td dataLabel={t("host.status")}>
                <HostStatus host={host} />
              </Td>
            </Tr>
          );
        })}
      </Tbody>
    </Table>
  );
}
