// SPDX-License-Identifier: Apache-2.0
/** How it ended: where the cluster is, or what went wrong and what to do. */
import { Alert, ClipboardCopy } from "@patternfly/react-core";
import type { Cluster, Farewell } from "../api/types";
import { Downloads } from "../credentials/Downloads";
import { HostsLines } from "../credentials/HostsLines";
import { sentence, t } from "../i18n";

export function Outcome({ cluster, farewell }: { cluster: Cluster; farewell?: Farewell }) {
  if (cluster.status === "installed") return <Installed cluster={cluster} farewell={farewell} />;
  if (cluster.status === "error" || cluster.status === "cancelled") {
    const isError = cluster.status === "error";
    return (
      <Alert
        component="h2"
        isInline
        variant={isError ? "danger" : "warning"}
        title={t(isError ? "outcome.error" : "outcome.cancelled")}
        className="app-blocks"
        data-testid="outcome"
      >
        <p>{sentence(cluster.status_info)}</p>
        <p>{t("outcome.again")}</p>
      </Alert>
    );
  }
  return null;
}

function Installed({ cluster, farewell }: { cluster: Cluster; farewell?: Farewell }) {
  return (
    <Alert component="h2" isInline variant="success" title={t("outcome.installed", { name: cluster.name ?? "" })} className="app-blocks" data-testid="outcome">
      {farewell?.console_url && (
        <p>
          {t("outcome.console")} <a href={farewell.console_url}>{farewell.console_url}</a>
        </p>
      )}
      {farewell?.api_url && (
        <p>
          {t("outcome.api")} <code>{farewell.api_url}</code>
        </p>
      )}
      <p className="app-lead">{t("outcome.try")}</p>
      <ClipboardCopy isReadOnly hoverTip={t("app.copy")} clickTip={t("app.copied")} textAriaLabel={t("outcome.try")}>
        {`kubectl --kubeconfig ${cluster.name}-kubeconfig get nodes`}
      </ClipboardCopy>
      <Downloads cluster={cluster} />
      <HostsLines cluster={cluster} />
    </Alert>
  );
}
