// SPDX-License-Identifier: Apache-2.0
/** The session ended: log in over the page, which keeps everything that was typed. */
import { Modal, ModalBody, ModalHeader } from "@patternfly/react-core";
import { t } from "../i18n";
import { LoginForm } from "./LoginForm";

export function LoginAgain() {
  return (
    <Modal isOpen variant="small" aria-labelledby="login-again" aria-describedby="login-again-text">
      <ModalHeader title={t("login.again")} labelId="login-again" />
      <ModalBody id="login-again-text">
        <p>{t("login.again.text")}</p>
        <LoginForm />
      </ModalBody>
    </Modal>
  );
}
