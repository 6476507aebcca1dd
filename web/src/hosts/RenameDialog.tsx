// SPDX-License-Identifier: Apache-2.0
import { type FormEvent, useState } from "react";
import { Button, Form, Modal, ModalBody, ModalFooter, ModalHeader } from "@patternfly/react-core";
import type { Host } from "../api/types";
import { checkHostname } from "../forms/checks";
import { TextField } from "../forms/fields";
import { t } from "../i18n";
import { Failure } from "../shell/Failure";
import { nameOf } from "./facts";

interface Props {
  host: Host;
  others: string[];
  save: (name: string) => Promise<void>;
  onClose: () => void;
}

export function RenameDialog({ host, others, save, onClose }: Props) {
  const [name, setName] = useState(nameOf(host));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const fault = checkHostname(name) || (others.includes(name) ? t("host.rename.taken") : "");

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (fault) return;
    setBusy(true);
    try {
      await save(name);
      onClose();
    } catch (caught) {
      setError(caught);
      setBusy(false);
    }
  }

  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="rename-title">
      <ModalHeader title={t("host.rename.of", { name: nameOf(host) })} labelId="rename-title" />
      <ModalBody>
        <Form id="rename" onSubmit={(event) => void submit(event)}>
          <TextField id="rename-name" label={t("host.name")} value={name} fault={fault} onChange={(text) => setName(text.trim())} />
        </Form>
        <Failure error={error} title={t("host.rename.failed")} />
      </ModalBody>
      <ModalFooter>
        <Button type="submit" form="rename" isLoading={busy} isDisabled={busy}>
          {t("host.rename")}
        </Button>
        <Button variant="link" onClick={onClose}>
          {t("app.cancel")}
        </Button>
      </ModalFooter>
    </Modal>
  );
}
