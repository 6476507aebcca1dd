// SPDX-License-Identifier: Apache-2.0
/** Why something was not done: what the service said, and what it says to do. */
import { Alert, AlertActionCloseButton } from "@patternfly/react-core";
import { ApiError, Unreachable } from "../api/errors";
import { sentence, t } from "../i18n";

interface Props {
  error: unknown;
  title: string;
  onClose?: () => void;
}

export function Failure({ error, title, onClose }: Props) {
  if (!error) return null;
  return (
    <Alert component="p"
      variant="danger"
      isInline
      title={title}
      className="app-failure"
      actionClose={onClose && <AlertActionCloseButton onClose={onClose} />}
    >
      <p>{messageOf(error)}</p>
      {error instanceof ApiError && error.fix && (
        <p>
          <strong>{t("why.fix")}</strong> {sentence(error.fix)}
        </p>
      )}
    </Alert>
  );
}

export function messageOf(error: unknown): string {
  if (error instanceof Unreachable) return t("link.banner.title");
  return sentence(error instanceof Error ? error.message : String(error));
}
