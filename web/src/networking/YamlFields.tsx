// SPDX-License-Identifier: Apache-2.0
/** A host's network as NMState, with its cards. */
import { lazy, Suspense } from "react";
import { FormGroup } from "@patternfly/react-core";
import { TextField } from "../forms/fields";
import { t } from "../i18n";
import { checkMacs, type StaticHost } from "./statics";

const YamlEditor = lazy(() => import("../manifests/YamlEditor"));

interface Props {
  at: number;
  host: StaticHost;
  onChange: (host: StaticHost) => void;
}

export function YamlFields({ at, host, onChange }: Props) {
  return (
    <>
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
    </>
  );
}
