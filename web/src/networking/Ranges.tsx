// SPDX-License-Identifier: Apache-2.0
/** The ranges inside of the cluster, which most leave as they are. */
import { Content } from "@patternfly/react-core";
import { TextField } from "../forms/fields";
import type { Draft } from "../forms/useDraft";
import { type Key, t } from "../i18n";
import type { Values } from "./values";

const FIRST = ["pods1", "prefix1", "services1"] as const;
const SECOND = ["pods2", "prefix2", "services2"] as const;

export function Ranges({ draft }: { draft: Draft<Values> }) {
  const fields = draft.value.isDual ? [...FIRST, ...SECOND] : FIRST;
  return (
    <>
      <Content component="p">{t("network.ranges.help")}</Content>
      {fields.map((field) => (
        <TextField
          key={field}
          id={`network-${field}`}
          label={t(`network.${field}` as Key)}
          value={draft.value[field]}
          fault={draft.faults[field]}
          onChange={(next) => draft.set(field, next.trim())}
        />
      ))}
    </>
  );
}
