// SPDX-License-Identifier: Apache-2.0
/** A row for each host: which stages are behind it, in which it is, and whether that takes longer than usual. */
import { useMemo } from "react";
import { Table, Tbody, Th, Thead, Tr } from "@patternfly/react-table";
import type { Cluster, HostTimeline, Timeline } from "../api/types";
import { nameOf, roleOf, sortHosts } from "../hosts/facts";
import { t } from "../i18n";
import { TimelineRow } from "./TimelineRow";

export function Timelines({ cluster, timeline }: { cluster: Cluster; timeline?: Timeline }) {
  const lines = useMemo(() => new Map(timeline?.hosts.map((each) => [each.id, each])), [timeline]);
  const hosts = useMemo(() => sortHosts(cluster.hosts), [cluster.hosts]);
  return (
    <section className="app-part" aria-labelledby="hosts-title">
      <h2 id="hosts-title" className="app-step-title">
        {t("progress.hosts")}
      </h2>
      <Table variant="compact" aria-labelledby="hosts-title">
        <Thead>
          <Tr>
            <Th width={20}>{t("host.name")}</Th>
            <Th width={10}>{t("host.role")}</Th>
            <Th width={10}>{t("host.status")}</Th>
            <Th>{t("progress.stage")}</Th>
            <Th width={15}>{t("progress.time")}</Th>
          </Tr>
        </Thead>
        <Tbody>
          {hosts.map((host) => (
            <TimelineRow key={host.id} host={host} line={lines.get(host.id) ?? plainLine(host)} />
          ))}
        </Tbody>
      </Table>
    </section>
  );

  /** What is known without a timeline: the stages, and when the present one began. */
  function plainLine(host: (typeof hosts)[number]): HostTimeline {
    const current = host.progress?.current_stage;
    return {
      id: host.id,
      name: nameOf(host),
      role: roleOf(host),
      stages: (host.progress_stages ?? []).map((stage) => ({
        stage,
        started_at: stage === current ? host.stage_started_at : undefined,
      })),
    };
  }
}
