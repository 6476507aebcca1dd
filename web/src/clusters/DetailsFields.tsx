// SPDX-License-Identifier: Apache-2.0
/** The fields of a cluster's details. */
import { ExpandableSection, FormFieldGroup, FormFieldGroupHeader, FormGroup, Radio } from "@patternfly/react-core";
import { useState } from "react";
import type { Versions } from "../api/types";
import { ChoiceField, TextField } from "../forms/fields";
import { t } from "../i18n";
import type { DetailFaults, Details } from "./details";

interface Props {
  value: Details;
  faults: DetailFaults;
  set: <K extends keyof Details>(field: K, value: Details[K]) => void;
  /** None while it is not known which there are. */
  versions?: Versions;
  /** A cluster that exists keeps its version; whether the service has a pull secret of it. */
  made?: { hasSecret: boolean };
  /** Whether the medium has a pull secret with it. */
  isBrought?: boolean;
}

const COUNTS = [1, 3, 4, 5] as const;

export function DetailsFields({ value, faults, set, versions, made, isBrought }: Props) {
  const text = (field: "name" | "base_dns_domain" | "http_proxy" | "https_proxy" | "no_proxy" | "additional_ntp_source") => ({
    id: `details-${field}`,
    value: value[field],
    fault: faults[field],
    onChange: (next: string) => set(field, next.trim()),
  });
  const known = versions ?? {};
  const architectures = known[value.openshift_version]?.cpu_architectures ?? [value.cpu_architecture];
  const [isOpen, setOpen] = useState(Boolean(value.http_proxy || value.https_proxy || value.additional_ntp_source));
  return (
    <>
      <TextField {...text("name")} label={t("details.name")} help={t("details.name.help")} isRequired />
      <TextField
        {...text("base_dns_domain")}
        label={t("details.domain")}
        help={t("details.domain.help", { name: value.name || "NAME", domain: value.base_dns_domain || "DOMAIN" })}
        isRequired
      />
      <ChoiceField
        id="details-openshift_version"
        label={t("details.version")}
        value={value.openshift_version}
        fault={faults.openshift_version}
        isDisabled={Boolean(made)}
        help={made ? t("details.version.fixed") : versions && !Object.keys(versions).length ? t("details.version.none") : undefined}
        options={versionOptions(known, value.openshift_version)}
        onChange={(next) => set("openshift_version", next)}
      />
      <ChoiceField
        id="details-architecture"
        label={t("details.architecture")}
        value={value.cpu_architecture}
        isDisabled={Boolean(made) || architectures.length < 2}
        help={t("details.architecture.help")}
        options={architectures.map((each) => ({ value: each, label: each }))}
        onChange={(next) => set("cpu_architecture", next)}
      />
      <ChoiceField
        id="details-topology"
        label={t("details.topology")}
        value={String(value.control_plane_count)}
        help={t(`details.topology.help.${value.control_plane_count === 1 ? "one" : "many"}`)}
        options={COUNTS.map((each) => ({ value: String(each), label: t(`details.topology.${each}`) }))}
        onChange={(next) => set("control_plane_count", Number(next))}
      />
      <PullSecret value={value} faults={faults} set={set} made={made} isBrought={isBrought} />
      <ExpandableSection
        toggleText={t("details.more")}
        isExpanded={isOpen}
        onToggle={(_event, open) => setOpen(open)}
        isIndented
      >
        <FormFieldGroup header={<FormFieldGroupHeader titleText={{ text: t("details.proxy"), id: "details-proxy" }} />}>
          <TextField {...text("http_proxy")} label={t("details.http_proxy")} placeholder="http://proxy.example.com:3128" />
          <TextField {...text("https_proxy")} label={t("details.https_proxy")} placeholder="http://proxy.example.com:3128" />
          <TextField {...text("no_proxy")} label={t("details.no_proxy")} help={t("details.no_proxy.help")} />
        </FormFieldGroup>
        <TextField {...text("additional_ntp_source")} label={t("details.ntp")} help={t("details.ntp.help")} />
      </ExpandableSection>
    </>
  );
}

function versionOptions(versions: Versions, chosen: string) {
  const found = Object.entries(versions).map(([value, each]) => ({ value, label: each.display_name }));
  return chosen && !versions[chosen] ? [{ value: chosen, label: chosen }, ...found] : found;
}

function PullSecret({ value, faults, set, made, isBrought }: Omit<Props, "versions">) {
  const first = made ? "keep" : isBrought ? "brought" : "none";
  const help = made ? (made.hasSecret ? "details.secret.there" : "details.secret.missing") : isBrought ? "details.secret.brought.help" : "details.secret.none.help";
  return (
    <FormGroup role="radiogroup" label={t("details.secret")} fieldId="details-secret" isStack>
      <Radio
        id="details-secret-none"
        name="secret"
        label={t(`details.secret.${first}`)}
        description={t(help)}
        isChecked={!value.needsSecret}
        onChange={() => set("needsSecret", false)}
      />
      <Radio
        id="details-secret-paste"
        name="secret"
        label={t(made ? "details.secret.change" : "details.secret.paste")}
        isChecked={value.needsSecret}
        onChange={() => set("needsSecret", true)}
      />
      {value.needsSecret && (
        <TextField
          id="details-pull-secret"
          label={t("details.secret.text")}
          value={value.pull_secret}
          fault={faults.pull_secret}
          help={t("details.secret.help")}
          rows={4}
          className="app-code"
          onChange={(next) => set("pull_secret", next)}
        />
      )}
    </FormGroup>
  );
}
