// SPDX-License-Identifier: Apache-2.0
/** One host with static addresses: its NMState, its cards, and what the service finds wrong with them. */
import { lazy, Suspense } from "react";
import { Button, FormFieldGroup, FormFieldGroupHeader, FormGroup, HelperText, HelperTextItem } from "@patternfly/react-core";
import TrashIcon from "@patternfly/react-icons/dist/esm/icons/trash-icon";
import type { Finding } from "../api/types";
import { TextField } from "../forms/fields";
import { sentence, t } from "../i18n";
import { checkMacs, type StaticHost } from "./statics";

const YamlEditor = lazy(() => import("../manifests/YamlEditor"));

interface Props {
  at: number;
  host: StaticHost;
  findings: readonly Finding[];
  onChange: (host: StaticHost) => void;
  onRemove: () => void;
}

export function StaticHostFields({ at, host, findings, onChange, onRemove }: Props) {
  const title = { text: t("static.host", { at }), id: `static-${host.key}` };
  return (
    <FormFieldGroup
      header={
        <FormFieldGroupHeader
          titleText={title}
          actions={<Button variant="plain" icon={<TrashIcon />} aria-label={t("static.remove", { at })} onClick={onRemove} />}
        />
      }
    >
      <FormGroup label={t("static.yaml", { at })}>
        <Suspense fallback={<p>{t("wizard.loading")}</p>}>
          <YamlEditor value={host.yaml} kinds={false} onChange={(yaml) => onChange({ ...host, yaml })} label={t("static.yaml", { at })} />
        </Suspense>
      </FormGroup>
      <TextField
        id={`static-macs-${host.key}`}
        label={t("static.macs")}
        help={t("static.macs.help")}
        value={host.macs}
        fault={checkMacs(host.macs)}
        rows={2}
        className="app-code"
        onChange={(macs) => onChange({ ...host, macs })}
      />
      <HelperText isLiveRegion>
        {findings.map((each) => (
          <HelperTextItem key={`${each.line} ${each.message}`} variant={each.severity === "error" ? "error" : "warning"}>
            {each.line ? t("manifests.line", { line: each.line, message: sentence(each.message) }) : sentence(each.message)}{" "}
            {each.fix && sentence(each.fix)}
          </HelperTextItem>
        ))}
      </HelperText>
    </FormFieldGroup>
  );
}
