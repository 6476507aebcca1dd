// SPDX-License-Identifier: Apache-2.0
/** The machines that have booted: they come by themselves. */
import { useMemo } from "react";
import { Content, EmptyState, EmptyStateBody, Spinner } from "@patternfly/react-core";
import type { Cluster } from "../api/types";
import { t, tn } from "../i18n";
import { useService } from "../store/service";
import { sortHosts } from "./facts";
import { ApproveKey } from "./ApproveKey";
import { HostTable } from "./HostTable";
import { IsoPanel } from "./IsoPanel";

export function DiscoveryStep({ cluster }: { cluster: Cluster }) {
  const hosts = useMemo(() => sortHosts(cluster.hosts), [cluster.hosts]);
  const { mode } = useService();
  return (
    <>
      <Content component="p">{t(mode === "interactive" ? "discovery.intro.here" : "discovery.intro")}</Content>
      {mode !== "interactive" && <IsoPanel cluster={cluster} isOpen={hosts.length === 0} />}
      {hosts.length ? (
        <>
          <p role="status" className="app-quiet" data-testid="host-count">
            {tn("discovery.count", hosts.length, { ready: cluster.ready_host_count ?? 0 })}
          </p>
          <HostTable clusterId={cluster.id} hosts={hosts} />
          <ApproveKey hosts={hosts} />
        </>
      ) : (
        <EmptyState titleText={t("discovery.none")} headingLevel="h3" icon={Spinner}>
          <EmptyStateBody>{t("discovery.none.text")}</EmptyStateBody>
        </EmptyState>
      )}
    </>
  );
}
