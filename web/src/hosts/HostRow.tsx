// SPDX-License-Identifier: Apache-2.0
/** One host in the table; drawn again only when that host changed. */
import { memo, useState } from "react";
import { Button, FormSelect, FormSelectOption } from "@patternfly/react-core";
import PencilAltIcon from "@patternfly/react-icons/dist/esm/icons/pencil-alt-icon";
import TrashIcon from "@patternfly/react-icons/dist/esm/icons/trash-icon";
import { ExpandableRowContent, Tbody, Td, Tr } from "@patternfly/react-table";
import type { Host } from "../api/types";
import { t, tn, tw } from "../i18n";
import { memory, size } from "../i18n/time";
import { checksOf, disksOf, inventoryOf, nameOf, roleOf } from "./facts";
import { HostDetails } from "./HostDetails";
import { HostStatus } from "./HostStatus";

export interface HostActions {
  rename: (host: Host) => void;
  remove: (host: Host) => void;
  setRole: (host: Host, role: string) => void;
}

interface Props {
  host: Host;
  at: number;
  isDoubled: boolean;
  actions: HostActions;
}

const COLUMNS = 8;
/** What narrow windows have no room for; the details of a host have it, too. */
export const WIDE: ("hidden" | "visibleOnXl")[] = ["hidden", "visibleOnXl"];
const ROLES = ["auto-assign", "master", "worker"] as const;

export const HostRow = memo(function HostRow({ host, at, isDoubled, actions }: Props) {
  const [isOpen, setOpen] = useState(false);
  const found = inventoryOf(host);
  const name = nameOf(host);
  const failed = checksOf(host).failed.length;
  const disks = disksOf(host).filter((disk) => !disk.is_installation_media);
  const toggle = () => setOpen(!isOpen);
  return (
    <Tbody isExpanded={isOpen} data-testid="host" data-host={name}>
      <Tr>
        <Td expand={{ rowIndex: at, isExpanded: isOpen, onToggle: toggle, expandId: "host" }} />
        <Td dataLabel={t("host.name")} modifier="breakWord">
          {name} {host.bootstrap && <em className="app-quiet">{t("host.rendezvous")}</em>}
          {isDoubled && <div className="app-bad">{t("host.doubled")}</div>}
        </Td>
        <Td dataLabel={t("host.role")}>
          <FormSelect
            aria-label={t("host.role.of", { name })}
            value={host.role ?? "auto-assign"}
            onChange={(_event, role) => actions.setRole(host, role)}
            className="app-role"
          >
            {ROLES.map((role) => (
              <FormSelectOption
                key={role}
                value={role}
                label={role === "auto-assign" ? autoLabel(host) : tw("host.role", role)}
              />
            ))}
          </FormSelect>
        </Td>
        <Td dataLabel={t("host.status")}>
          <HostStatus host={host} />
          {failed > 0 && (
            <Button variant="link" isInline onClick={toggle} className="app-failed" aria-expanded={isOpen}>
              {tn("checks.failed", failed)}
            </Button>
          )}
        </Td>
        <Td dataLabel={t("host.cores")} visibility={WIDE}>{found.cpu?.count ?? "–"}</Td>
        <Td dataLabel={t("host.memory")} modifier="nowrap">{found.memory?.physical_bytes ? memory(found.memory.physical_bytes) : "–"}</Td>
        <Td dataLabel={t("host.disks")} modifier="nowrap" visibility={WIDE}>
          {disks.length ? tn("host.disks.sum", disks.length, { size: size(disks.reduce((sum, disk) => sum + (disk.size_bytes ?? 0), 0)) }) : "–"}
        </Td>
        <Td isActionCell modifier="nowrap">
          <Button variant="plain" icon={<PencilAltIcon />} aria-label={t("host.rename.of", { name })} onClick={() => actions.rename(host)} />
          <Button variant="plain" icon={<TrashIcon />} aria-label={t("host.remove.of", { name })} onClick={() => actions.remove(host)} />
        </Td>
      </Tr>
      {isOpen && (
        <Tr isExpanded>
          <Td colSpan={COLUMNS}>
            <ExpandableRowContent>
              <HostDetails host={host} />
            </ExpandableRowContent>
          </Td>
        </Tr>
      )}
    </Tbody>
  );
});

function autoLabel(host: Host): string {
  const role = roleOf({ ...host, role: "auto-assign" });
  return role === "auto-assign" ? t("host.role.auto") : t("host.role.auto.as", { role: tw("host.role", role) });
}
