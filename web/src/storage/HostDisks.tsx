// SPDX-License-Identifier: Apache-2.0
/** The disks of one host; drawn again only when that host changed. */
import { memo } from "react";
import { Checkbox, Content, Radio } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import type { Disk, Host } from "../api/types";
import { disksOf, installDiskOf, nameOf } from "../hosts/facts";
import { t } from "../i18n";
import { size } from "../i18n/time";
import { contentOf, fateOf, missingOf } from "./fate";

interface Props {
  host: Host;
  onInstall: (disk: Disk) => void;
  onSkip: (disk: Disk, skip: boolean) => void;
}

export const HostDisks = memo(
  function HostDisks({ host, onInstall, onSkip }: Props) {
    const name = nameOf(host);
    const chosen = installDiskOf(host);
    return (
      <section className="app-host-disks" data-testid="host-disks" data-host={name}>
        <Content component="h3">{name}</Content>
        <Table variant="compact" aria-label={t("storage.table", { host: name })}>
          <Thead>
            <Tr>
              <Th modifier="wrap">{t("storage.install")}</Th>
              <Th>{t("host.disk")}</Th>
              <Th>{t("host.size")}</Th>
              <Th>{t("host.type")}</Th>
              <Th modifier="wrap">{t("storage.what")}</Th>
              <Th modifier="wrap">{t("storage.then")}</Th>
            </Tr>
          </Thead>
          <Tbody>
            {disksOf(host).map((disk) => (
              <DiskRow key={disk.id ?? disk.path} {...{ host, disk, isChosen: disk === chosen, onInstall, onSkip }} />
            ))}
            {missingOf(host).map((id) => (
              <MissingRow key={id} host={host} id={id} onSkip={onSkip} />
            ))}
          </Tbody>
        </Table>
      </section>
    );
  },
  (before, after) => before.host === after.host,
);

/** A disk that was to be left as it is, and is not there: it can be let go. */
function MissingRow({ host, id, onSkip }: Pick<Props, "host" | "onSkip"> & { id: string }) {
  return (
    <Tr>
      <Td />
      <Td dataLabel={t("host.disk")} colSpan={4}>
        {id}
      </Td>
      <Td dataLabel={t("storage.then")}>
        <span className="app-bad">{t("storage.missing")}</span>
        <Checkbox
          id={`skip-${host.id}-${id}`}
          label={t("storage.skip")}
          aria-label={t("storage.skip.of", { host: nameOf(host), disk: id })}
          isChecked
          onChange={(_event, skip) => onSkip({ id }, skip)}
        />
      </Td>
    </Tr>
  );
}

function DiskRow({ host, disk, isChosen, onInstall, onSkip }: Props & { disk: Disk; isChosen: boolean }) {
  const name = nameOf(host);
  const label = disk.name ?? disk.path ?? "";
  const reasons = disk.installation_eligibility?.not_eligible_reasons ?? [];
  const isEligible = disk.installation_eligibility?.eligible !== false;
  const fate = fateOf(host, disk, isChosen);
  return (
    <Tr>
      <Td dataLabel={t("storage.install")}>
        <Radio
          id={`install-${host.id}-${disk.id}`}
          name={`install-${host.id}`}
          aria-label={t("storage.install.of", { host: name, disk: label })}
          isChecked={isChosen}
          isDisabled={!isEligible}
          onChange={() => onInstall(disk)}
        />
      </Td>
      <Td dataLabel={t("host.disk")}>
        {label}
        <div className="app-quiet">{[disk.model, disk.serial].filter(Boolean).join(", ")}</div>
      </Td>
      <Td dataLabel={t("host.size")} modifier="nowrap">{size(disk.size_bytes ?? 0)}</Td>
      <Td dataLabel={t("host.type")}>{disk.drive_type}</Td>
      <Td dataLabel={t("storage.what")}>{contentOf(host, disk).join("; ")}</Td>
      <Td dataLabel={t("storage.then")}>
        <span className={fate === "erased" ? "app-bad" : undefined}>{t(`storage.${fate}`)}</span>
        {(fate === "formatted" || (fate === "kept" && disk.bootable)) && (
          <Checkbox
            id={`skip-${host.id}-${disk.id}`}
            label={t("storage.skip")}
            aria-label={t("storage.skip.of", { host: name, disk: label })}
            isChecked={fate === "kept"}
            onChange={(_event, skip) => onSkip(disk, skip)}
          />
        )}
        {!isEligible && <div className="app-quiet">{t("storage.ineligible", { why: reasons.join("; ") })}</div>}
      </Td>
    </Tr>
  );
}
