// SPDX-License-Identifier: Apache-2.0
/** Who reaches whom, as the hosts found out themselves. */
import { useMemo, useState } from "react";
import { ExpandableSection } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { listHosts } from "../api/calls";
import type { Cluster } from "../api/types";
import { nameOf, sortHosts } from "../hosts/facts";
import { t } from "../i18n";
import { useAsked } from "../store/asked";
import { type Reach, reachOf } from "./model";

const SHOWN = 16;

export function ReachTable({ cluster }: { cluster: Cluster }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <ExpandableSection toggleText={t("topology.reach")} isExpanded={isOpen} onToggle={(_event, next) => setOpen(next)} isIndented>
      {isOpen && <Matrix cluster={cluster} />}
    </ExpandableSection>
  );
}

function Matrix({ cluster }: { cluster: Cluster }) {
  const { found } = useAsked(() => listHosts(cluster.id), [cluster.id, cluster.hosts]);
  const reach = useMemo(() => reachOf(found ?? []), [found]);
  const hosts = sortHosts(cluster.hosts).slice(0, SHOWN);
  return (
    <Table variant="compact" aria-label={t("topology.reach")}>
      <Thead>
        <Tr>
          <Th>{t("topology.reach.of")}</Th>
          {hosts.map((to) => (
            <Th key={to.id} modifier="wrap">
              {nameOf(to)}
            </Th>
          ))}
        </Tr>
      </Thead>
      <Tbody>
        {hosts.map((from) => (
          <Tr key={from.id}>
            <Th scope="row">{nameOf(from)}</Th>
            {hosts.map((to) => (
              <Td key={to.id} dataLabel={nameOf(to)}>
                {from.id === to.id ? "–" : <Cell reach={reach.get(`${from.id} ${to.id}`)} />}
              </Td>
            ))}
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}

function Cell({ reach }: { reach?: Reach }) {
  if (!reach) return <span className="app-quiet">{t("topology.reach.unknown")}</span>;
  if (!reach.isReached) return <span className="app-bad">{t("topology.reach.no")}</span>;
  const figures = [
    reach.ms === undefined ? t("topology.reach.yes") : t("topology.reach.ms", { ms: reach.ms.toFixed(1) }),
    reach.loss ? t("topology.loss", { loss: reach.loss }) : "",
  ];
  return <>{figures.filter(Boolean).join(", ")}</>;
}
