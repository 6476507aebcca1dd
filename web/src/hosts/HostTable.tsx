// SPDX-License-Identifier: Apache-2.0
/** The hosts of a cluster, live. */
import { createContext, memo, useContext, useMemo, useState } from "react";
import { Table, Th, Thead, Tr } from "@patternfly/react-table";
import { deleteHost, updateHost } from "../api/calls";
import type { Host, HostUpdate } from "../api/types";
import { t } from "../i18n";
import { Failure } from "../shell/Failure";
import { dropHost, noteHost } from "../store/clusters";
import { doubledNames, nameOf } from "./facts";
import { type HostActions, HostRow, WIDE } from "./HostRow";
import { RemoveDialog } from "./RemoveDialog";
import { RenameDialog } from "./RenameDialog";

/** The hosts come to the rows on a way of their own: when a table is drawn again, so are all of its cells. */
const Shown = createContext<readonly Host[]>([]);

export function HostTable({ clusterId, hosts }: { clusterId: string; hosts: readonly Host[] }) {
  const [renaming, setRenaming] = useState<Host>();
  const [removing, setRemoving] = useState<Host>();
  const [error, setError] = useState<unknown>();
  const actions = useMemo<HostActions>(
    () => ({
      rename: setRenaming,
      remove: setRemoving,
      setRole: (host, role) => {
        setError(undefined);
        updateHost(host, { host_role: role as HostUpdate["host_role"] }).then((fresh) => noteHost(clusterId, fresh), setError);
      },
    }),
    [clusterId],
  );
  return (
    <>
      <Failure error={error} title={t("host.role.failed")} onClose={() => setError(undefined)} />
      <Shown.Provider value={hosts}>
        <Frame actions={actions} />
      </Shown.Provider>
      {renaming && (
        <RenameDialog
          host={renaming}
          others={hosts.filter((each) => each.id !== renaming.id).map(nameOf)}
          onClose={() => setRenaming(undefined)}
          save={async (name) => noteHost(clusterId, await updateHost(renaming, { host_name: name }))}
        />
      )}
      {removing && (
        <RemoveDialog
          name={nameOf(removing)}
          onClose={() => setRemoving(undefined)}
          remove={async () => {
            await deleteHost(removing);
            dropHost(clusterId, removing.id);
          }}
        />
      )}
    </>
  );
}

const Frame = memo(function Frame({ actions }: { actions: HostActions }) {
  return (
    <Table variant="compact" aria-label={t("host.table")} isExpandable className="app-hosts">
      <Thead>
        <Tr>
          <Th screenReaderText={t("host.expand")} />
          <Th modifier="nowrap">{t("host.name")}</Th>
          <Th>{t("host.role")}</Th>
          <Th>{t("host.status")}</Th>
          <Th modifier="fitContent" visibility={WIDE}>{t("host.cores")}</Th>
          <Th modifier="fitContent">{t("host.memory")}</Th>
          <Th modifier="fitContent" visibility={WIDE}>{t("host.disks")}</Th>
          <Th screenReaderText={t("host.actions")} />
        </Tr>
      </Thead>
      <Rows actions={actions} />
    </Table>
  );
});

function Rows({ actions }: { actions: HostActions }) {
  const hosts = useContext(Shown);
  const doubled = useMemo(() => doubledNames(hosts), [hosts]);
  return hosts.map((host, at) => (
    <HostRow key={host.id} host={host} at={at} isDoubled={doubled.has(nameOf(host))} actions={actions} />
  ));
}
