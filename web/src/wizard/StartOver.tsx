// SPDX-License-Identifier: Apache-2.0
/** Begin again: throw the cluster away, with everything that was entered for it. */
import { useState } from "react";
import { Button, Modal, ModalBody, ModalFooter, ModalHeader } from "@patternfly/react-core";
import { deleteCluster, deleteHost, deleteInfraEnv, listInfraEnvs, startOver } from "../api/calls";
import type { Cluster } from "../api/types";
import { t } from "../i18n";
import { go } from "../routing";
import { Failure } from "../shell/Failure";
import { known } from "../store/clusters";
import { useAway } from "../store/live";
import { useService } from "../store/service";

export function StartOver({ cluster }: { cluster: Cluster }) {
  const [isOpen, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const { mode } = useService();
  const away = useAway();
  const isRunning = /^(preparing|installing|finalizing)/.test(cluster.status);
  if (mode === "status" || mode === "site" || (mode === "many" && isRunning)) return null;

  async function drop(): Promise<void> {
    setBusy(true);
    try {
      await (mode === "interactive" ? startOver() : dropCluster(cluster));
      known.set((old) => ({ ...old, list: old.list?.filter((each) => each.id !== cluster.id) }));
      go(mode === "interactive" ? "/new" : "/");
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  }

  return (
    <>
      <Button variant="link" isDisabled={away !== undefined} title={away} onClick={() => setOpen(true)} data-testid="start-over">
        {t(mode === "interactive" ? "over.button" : "over.delete")}
      </Button>
      <Modal isOpen={isOpen} variant="small" onClose={() => setOpen(false)} aria-labelledby="over-title">
        <ModalHeader title={t("over.title", { name: cluster.name ?? "" })} labelId="over-title" titleIconVariant="warning" />
        <ModalBody>
          <p>{t("over.text")}</p>
          {mode === "interactive" && <p>{t("over.rendezvous")}</p>}
          <Failure error={error} title={t("over.failed")} />
        </ModalBody>
        <ModalFooter>
          <Button variant="danger" isLoading={busy} isDisabled={busy} onClick={() => void drop()} data-testid="start-over-yes">
            {t("over.yes")}
          </Button>
          <Button variant="link" onClick={() => setOpen(false)}>
            {t("app.cancel")}
          </Button>
        </ModalFooter>
      </Modal>
    </>
  );
}

/** The cluster, its hosts and what they booted from: none of it is of use without the others. */
async function dropCluster(cluster: Cluster): Promise<void> {
  for (const host of cluster.hosts ?? []) await deleteHost(host);
  for (const each of await listInfraEnvs(cluster.id)) await deleteInfraEnv(each.id);
  await deleteCluster(cluster.id);
}
