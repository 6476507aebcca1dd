// SPDX-License-Identifier: Apache-2.0
/** Lines for the hosts file of the user's own machine, for sites without DNS. */
import { ClipboardCopy, ExpandableSection } from "@patternfly/react-core";
import { getFarewell } from "../api/calls";
import type { Cluster } from "../api/types";
import { t } from "../i18n";
import { useAsked } from "../store/asked";

export function HostsLines({ cluster }: { cluster: Cluster }) {
  const { found } = useAsked(() => getFarewell(cluster.id), [cluster.id, cluster.name, cluster.base_dns_domain, cluster.api_vips]);
  if (!found?.hosts_lines?.length) return null;
  return (
    <ExpandableSection toggleText={t("credentials.hosts")} isIndented>
      <p>{t("credentials.hosts.text")}</p>
      <ClipboardCopy isReadOnly isCode isExpanded variant="expansion" hoverTip={t("app.copy")} clickTip={t("app.copied")}>
        {found.hosts_lines.join("\n")}
      </ClipboardCopy>
    </ExpandableSection>
  );
}
