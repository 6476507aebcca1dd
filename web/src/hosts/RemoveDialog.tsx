// SPDX-License-Identifier: Apache-2.0
import { useState } from "react";
import { Button, Modal, ModalBody, ModalFooter, ModalHeader } from "@patternfly/react-core";
import { t } from "../i18n";
import { Failure } from "../shell/Failure";

interface Props {
  name: string;
  remove: () => Promise<void>;
  onClose: () => void;
}

export function RemoveDialog({ name, remove, onClose }: Props) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();

  async function confirm(): Promise<void> {
    setBusy(true);
    try {
      await remove();
      onClose();
    } catch (caught) {
      setError(caught);
      setBusy(false);
    }
  }

  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="remove-title">
      <ModalHeader title={t("host.remove.of", { name })} labelId="remove-title" titleIconVariant="warning" />
      <ModalBody>
        <p>{t("host.remove.text")}</p>
        <Failure error={error} title={t("host.remove.failed")} />
      </ModalBody>
      <ModalFooter>
        <Button variant="danger" isLoading={busy} isDisabled={busy} onClick={() => void confirm()}>
          {t("host.remove")}
        </Button>
        <Button variant="link" onClick={onClose}>
          {t("app.cancel")}
        </Button>
      </ModalFooter>
    </Modal>
  );
}
