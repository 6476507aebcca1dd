// SPDX-License-Identifier: Apache-2.0
/** The network of the machines: one that hosts have, or another one. */
import { useState } from "react";
import { ChoiceField, TextField } from "../forms/fields";
import type { Draft } from "../forms/useDraft";
import { t } from "../i18n";
import type { Values } from "./values";

interface Props {
  field: "machine1" | "machine2";
  draft: Draft<Values>;
  known: readonly string[];
  /** Whether it follows from the virtual addresses when it is left open. */
  isDerived: boolean;
}

const OTHER = "other";

export function MachineNetwork({ field, draft, known, isDerived }: Props) {
  const value = draft.value[field];
  const [isOther, setOther] = useState(false);
  const showsText = isOther || (value !== "" && !known.includes(value));
  const label = t(field === "machine1" ? "network.machine" : "network.machine.second");
  return (
    <>
      <ChoiceField
        id={`network-${field}`}
        label={label}
        help={t("network.machine.help")}
        value={showsText ? OTHER : value}
        options={[
          { value: "", label: t(isDerived ? "network.machine.derived" : "network.machine.open"), isDisabled: value !== "" && !isDerived },
          ...known.map((cidr) => ({ value: cidr, label: cidr })),
          { value: OTHER, label: t("network.machine.other") },
        ]}
        onChange={(chosen) => {
          setOther(chosen === OTHER);
          if (chosen !== OTHER) draft.set(field, chosen);
        }}
      />
      {showsText && (
        <TextField
          id={`network-${field}-text`}
          label={t("network.machine.text")}
          value={value}
          fault={draft.faults[field]}
          onChange={(next) => draft.set(field, next.trim())}
        />
      )}
    </>
  );
}
