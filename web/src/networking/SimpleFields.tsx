// SPDX-License-Identifier: Apache-2.0
/** A host's cards, addresses and name servers as fields. */
import { Grid, GridItem } from "@patternfly/react-core";
import { splitList } from "../forms/checks";
import { ChoiceField, TextField } from "../forms/fields";
import { t } from "../i18n";
import { checkSimple, MODES, type Simple } from "./simple";

interface Props {
  id: number;
  simple: Simple;
  onChange: (simple: Simple) => void;
}

export function SimpleFields({ id, simple, onChange }: Props) {
  const faults = checkSimple(simple);
  const set = (field: keyof Simple) => (next: string) => onChange({ ...simple, [field]: next });
  const text = (field: "vlan" | "address4" | "gateway4" | "address6" | "gateway6" | "dns") => (
    <TextField
      id={`static-${field}-${id}`}
      label={t(`simple.${field}`)}
      help={field === "gateway4" || field === "gateway6" ? undefined : t(`simple.${field}.help`)}
      value={simple[field]}
      fault={faults[field]}
      onChange={(next) => set(field)(field === "dns" ? next : next.trim())}
    />
  );
  return (
    <>
      <TextField
        id={`static-cards-${id}`}
        label={t("simple.cards")}
        help={t("simple.cards.help")}
        value={simple.cards}
        fault={faults.cards}
        isRequired
        rows={2}
        className="app-code"
        onChange={set("cards")}
      />
      {splitList(simple.cards).length > 1 && (
        <ChoiceField
          id={`static-mode-${id}`}
          label={t("simple.mode")}
          value={simple.mode}
          options={MODES.map((mode) => ({ value: mode, label: t(`simple.mode.${mode}`) }))}
          onChange={set("mode")}
        />
      )}
      <Grid hasGutter md={6}>
        {(["address4", "gateway4", "address6", "gateway6", "dns", "vlan"] as const).map((field) => (
          <GridItem key={field}>{text(field)}</GridItem>
        ))}
      </Grid>
    </>
  );
}
