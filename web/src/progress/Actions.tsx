// SPDX-License-Identifier: Apache-2.0
/** Stop an installation; begin again with one that was stopped or failed. */
import { useState } from "react";
import { Button, Modal, ModalBody, ModalFooter, ModalHeader } from "@patternfly/react-core";
import { act } from "../api/calls";
import type { Cluster } from "../api/types";
import { t } from "../i18n";
import { Failure } from "../shell/Failure";
import { noteCluster } from "../store/clusters";
import { useAway } from "../store/live";
import { useService } from "../store/service";

const RUNNING: Cluster["status"][] = ["preparing-for-installation", "installing", "installing-pending-user-action", "finalizing"];
const OVER: Cluster["status"][] = ["error", "cancelled"];

export function Actions({ cluster }: { cluster: Cluster }) {
  const { mode } = useService();
  const action = RUNNING.includes(cluster.status) ? "cancel" : OVER.includes(cluster.status) ? "reset" : undefined;
  if (!action || mode === "status") return null;
  return <Ask key={action} cluster={cluster} action={action} />;
}

function Ask({ cluster, action }: { cluster: Cluster; action: "cancel" | "reset" }) {
  const [isOpen, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const away = useAway();

  async function confirm(): Promise<void> {
    setBusy(true);
    setError(undefined);
    try {
      noteCluster(await act(cluster.id, action));
      setOpen(false);
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  }

  return (
    <>
      <Button variant={action === "cancel" ? "secondary" : "primary"} isDanger={action === "cancel"} isDisabled={away !== undefined} title={away} onClick={() => setOpen(true)} data-testid={action}>
        {t(`action.${action}`)}
      </Button>
      <Modal isOpen={isOpen} variant="small" onClose={() => setOpen(false)} aria-labelledby="action-title">
        <ModalHeader title={t(`action.${action}.title`, { name: cluster.name ?? "" })} labelId="action-title" titleIconVariant="warning" />
        <ModalBody>
          <p>{t(`action.${action}.text`)}</p>
          <Failure error={error} title={t(`action.${action}.failed`)} />
        </ModalBody>
        <ModalFooter>
          <Button variant="danger" isLoading={busy} isDisabled={busy} onClick={() => void confirm()} data-testid={`${action}-yes`}>
            {t(`action.${action}`)}
          </Button>
          <Button variant="link" onClick={() => setOpen(false)}>
            {t("app.close")}
          </Button>
        </ModalFooter>
      </Modal>
    </>
  );
}
