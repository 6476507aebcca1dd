// SPDX-License-Identifier: Apache-2.0
/** How the installation goes: the whole, each host, what is waited for, what happened. */
import { PageSection } from "@patternfly/react-core";
import { getFarewell, getTimeline } from "../api/calls";
import type { Cluster, Why } from "../api/types";
import { ClusterStatus } from "../clusters/ClusterStatus";
import { Handover } from "../handover/Handover";
import { useKept } from "../handover/kept";
import { t } from "../i18n";
import { useAsked } from "../store/asked";
import { StartOver } from "../wizard/StartOver";
import { Actions } from "./Actions";
import { AddOnStates } from "./AddOnStates";
import { Approvals } from "./Approvals";
import { Events } from "./Events";
import { HostLogs } from "./HostLogs";
import { Outcome } from "./Outcome";
import { Overall } from "./Overall";
import { Timelines } from "./Timelines";
import { WhyPanel } from "./WhyPanel";

export function ProgressPage({ cluster, why }: { cluster: Cluster; why?: Why }) {
  const follows = [cluster.id, cluster.status, cluster.progress, cluster.hosts];
  const timeline = useAsked(() => getTimeline(cluster.id), follows).found;
  const farewell = useAsked(() => getFarewell(cluster.id), follows).found;
  const kept = useKept(cluster.id, { timeline, farewell });
  return (
    <PageSection hasBodyWrapper={false} className="app-progress">
      <header className="app-wizard-head">
        <h1 className="app-title">{t("progress.title", { name: cluster.name ?? "" })}</h1>
        <ClusterStatus cluster={cluster} />
        <Actions cluster={cluster} />
        <StartOver cluster={cluster} />
      </header>
      <Approvals cluster={cluster} />
      <Handover cluster={cluster} farewell={kept.farewell} />
      <Outcome cluster={cluster} farewell={kept.farewell} />
      <Overall cluster={cluster} timeline={kept.timeline} />
      <WhyPanel why={why} />
      <Timelines cluster={cluster} timeline={kept.timeline} />
      <AddOnStates cluster={cluster} />
      <HostLogs cluster={cluster} />
      <Events cluster={cluster} />
    </PageSection>
  );
}
