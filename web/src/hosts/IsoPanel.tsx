// SPDX-License-Identifier: Apache-2.0
/** The discovery image: by the browser, by curl, or by the BMC of the machines. */
import { useState } from "react";
import { Alert, Button, ClipboardCopy, ExpandableSection } from "@patternfly/react-core";
import DownloadIcon from "@patternfly/react-icons/dist/esm/icons/download-icon";
import { listInfraEnvs } from "../api/calls";
import type { Cluster, InfraEnv } from "../api/types";
import { t } from "../i18n";
import { dayTime, size } from "../i18n/time";
import { Failure } from "../shell/Failure";
import { useAsked } from "../store/asked";

export function IsoPanel({ cluster, isOpen }: { cluster: Cluster; isOpen: boolean }) {
  const [open, setOpen] = useState(isOpen);
  const { found, error } = useAsked(async () => (open ? listInfraEnvs(cluster.id) : []), [cluster.id, open]);
  const env = found?.[0];
  return (
    <ExpandableSection
      toggleText={t("iso.title")}
      isExpanded={open}
      onToggle={(_event, next) => setOpen(next)}
      displaySize="lg"
      isWidthLimited
      className="app-iso"
    >
      <Failure error={error} title={t("iso.failed")} />
      {env?.download_url ? <Ways env={env} url={env.download_url} /> : <Alert component="h3" isInline variant="info" title={t("iso.none")} />}
    </ExpandableSection>
  );
}

function Ways({ env, url }: { env: InfraEnv; url: string }) {
  const file = `${env.name}.iso`;
  return (
    <div className="app-stack">
      <p>{t("iso.text", { time: dayTime(env.expires_at) })}</p>
      <div>
        <Button component="a" href={url} icon={<DownloadIcon />} download={file}>
          {env.size_bytes ? t("iso.download.size", { size: size(env.size_bytes) }) : t("iso.download")}
        </Button>
      </div>
      <Copy label={t("iso.curl")} text={`curl --fail --insecure --output ${file} '${url}'`} />
      <p className="app-quiet">{t("iso.curl.help")}</p>
      <Copy label={t("iso.bmc")} text={url} />
      <p className="app-quiet">{t("iso.bmc.help")}</p>
    </div>
  );
}

function Copy({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <div className="app-lead">{label}</div>
      <ClipboardCopy isReadOnly hoverTip={t("app.copy")} clickTip={t("app.copied")} textAriaLabel={label}>
        {text}
      </ClipboardCopy>
    </div>
  );
}
