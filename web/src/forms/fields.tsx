// SPDX-License-Identifier: Apache-2.0
/** Fields with a label, a word of help, and what is wrong with them. */
import type { ReactNode } from "react";
import {
  FormGroup,
  FormHelperText,
  FormSelect,
  FormSelectOption,
  HelperText,
  HelperTextItem,
  TextArea,
  TextInput,
} from "@patternfly/react-core";
import type { Fault } from "./checks";

interface Common {
  id: string;
  label: string;
  help?: ReactNode;
  fault?: Fault;
  isRequired?: boolean;
  isDisabled?: boolean;
}

interface Text extends Common {
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  rows?: number;
  className?: string;
}

export function TextField({ id, label, help, fault, isRequired, rows, onChange, ...rest }: Text) {
  const shared = {
    id,
    ...rest,
    isRequired,
    validated: fault ? ("error" as const) : ("default" as const),
    "aria-describedby": help || fault ? `${id}-help` : undefined,
    onChange: (_event: unknown, value: string) => onChange(value),
    spellCheck: false,
    autoComplete: "off",
  };
  return (
    <FormGroup label={label} fieldId={id} isRequired={isRequired}>
      {rows ? <TextArea {...shared} rows={rows} resizeOrientation="vertical" /> : <TextInput {...shared} />}
      <FieldHelp id={id} help={help} fault={fault} />
    </FormGroup>
  );
}

interface Choice extends Common {
  value: string;
  options: { value: string; label: string; isDisabled?: boolean }[];
  onChange: (value: string) => void;
}

export function ChoiceField({ id, label, help, fault, isRequired, isDisabled, value, options, onChange }: Choice) {
  return (
    <FormGroup label={label} fieldId={id} isRequired={isRequired}>
      <FormSelect
        id={id}
        value={value}
        isDisabled={isDisabled}
        validated={fault ? "error" : "default"}
        aria-describedby={help || fault ? `${id}-help` : undefined}
        onChange={(_event, chosen) => onChange(chosen)}
      >
        {options.map((each) => (
          <FormSelectOption key={each.value} {...each} />
        ))}
      </FormSelect>
      <FieldHelp id={id} help={help} fault={fault} />
    </FormGroup>
  );
}

/** What is wrong takes the place of the help; a screen reader says it as soon as it appears. */
export function FieldHelp({ id, help, fault }: Pick<Common, "id" | "help" | "fault">) {
  if (!help && !fault) return null;
  return (
    <FormHelperText>
      <HelperText id={`${id}-help`} isLiveRegion={Boolean(fault)}>
        <HelperTextItem variant={fault ? "error" : "default"}>{fault || help}</HelperTextItem>
      </HelperText>
    </FormHelperText>
  );
}
