// SPDX-License-Identifier: Apache-2.0
/** One host with static addresses, as a form or as NMState, and what the service finds wrong with it. */
import { Button, FormFieldGroup, FormFieldGroupHeader, HelperText, HelperTextItem } from "@patternfly/react-core";
import TrashIcon from "@patternfly/react-icons/dist/esm/icons/trash-icon";
import type { Finding } from "../api/types";
import { sentence, t } from "../i18n";
import { missingIn } from "./simple";
import { SimpleFields } from "./SimpleFields";
import { asForm, asYaml, type StaticHost } from "./statics";
import { YamlFields } from "./YamlFields";

interface Props {
  at: number;
  host: StaticHost;
  findings: readonly Finding[];
  onChange: (host: StaticHost) => void;
  onRemove: () => void;
}

export function StaticHostFields({ at, host, findings, onChange, onRemove }: Props) {
  const title = { text: t("static.host", { at }), id: `static-${host.key}` };
  const missing = host.simple ? missingIn(host.simple) : "";
  return (
    <FormFieldGroup
      header={
        <FormFieldGroupHeader
          titleText={title}
          actions={
            <>
              <Switch host={host} onChange={onChange} />
              <Button variant="plain" icon={<TrashIcon />} aria-label={t("static.remove", { at })} onClick={onRemove} />
            </>
          }
        />
      }
    >
      {host.simple ? (
        <SimpleFields id={host.key} simple={host.simple} onChange={(simple) => onChange({ ...host, simple })} />
      ) : (
        <YamlFields at={at} host={host} onChange={onChange} />
      )}
      <HelperText isLiveRegion>
        {missing ? (
          <HelperTextItem variant="indeterminate">{missing}</HelperTextItem>
        ) : (
          findings.map((each) => <FindingItem key={`${each.line} ${each.message}`} finding={each} isForm={Boolean(host.simple)} />)
        )}
      </HelperText>
    </FormFieldGroup>
  );
}

/** From the form to YAML and back; back only as long as the form can say all of it. */
function Switch({ host, onChange }: Pick<Props, "host" | "onChange">) {
  if (host.simple) {
    return (
      <Button variant="link" onClick={() => onChange(asYaml(host))}>
        {t("static.as.yaml")}
      </Button>
    );
  }
  const form = asForm(host);
  return (
    <Button variant="link" isAriaDisabled={!form.simple} onClick={() => form.simple && onChange(form)}>
      {t(form.simple ? "static.as.form" : "static.as.none")}
    </Button>
  );
}

function FindingItem({ finding, isForm }: { finding: Finding; isForm: boolean }) {
  const said = sentence(finding.message);
  return (
    <HelperTextItem variant={finding.severity === "error" ? "error" : "warning"}>
      {finding.line && !isForm ? t("manifests.line", { line: finding.line, message: said }) : said} {finding.fix && sentence(finding.fix)}
    </HelperTextItem>
  );
}
