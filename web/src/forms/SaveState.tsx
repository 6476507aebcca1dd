// SPDX-License-Identifier: Apache-2.0
/** Whether what was typed is with the service. */
import { Failure } from "../shell/Failure";
import { t } from "../i18n";
import type { Draft } from "./useDraft";

export function SaveState<T>({ draft }: { draft: Draft<T> }) {
  const faulty = Object.values(draft.faults).some(Boolean);
  const word = draft.isSaving ? "saving" : !draft.isDirty ? "saved" : faulty ? "faulty" : "typing";
  return (
    <>
      <Failure error={draft.error} title={t("save.failed")} />
      <p className="app-save" role="status" data-testid="save-state">
        {t(`save.${word}`)}
      </p>
    </>
  );
}
