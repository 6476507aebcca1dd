// SPDX-License-Identifier: Apache-2.0
/** The network of the cluster as a picture, and the same as tables. */
import { useMemo } from "react";
import { ExpandableSection } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import type { Cluster } from "../api/types";
import { t } from "../i18n";
import { type Picture as Drawn, pictureOf } from "./model";
import { Picture } from "./Picture";
import { ReachTable } from "./ReachTable";

export function Topology({ cluster }: { cluster: Cluster }) {
  const drawn = useMemo(() => pictureOf(cluster), [cluster]);
  if (!drawn.nodes.length || !drawn.nets.length) return null;
  return (
    <section className="app-part" aria-labelledby="topology-title">
      <h3 id="topology-title">{t("topology.title")}</h3>
      <Picture drawn={drawn} />
      <ExpandableSection toggleText={t("topology.table")} isIndented>
        <Places drawn={drawn} />
      </ExpandableSection>
      <ReachTable cluster={cluster} />
    </section>
  );
}

function Places({ drawn }: { drawn: Drawn }) {
  return (
    <>
      <Table variant="compact" aria-label={t("topology.table")}>
        <Thead>
          <Tr>
            <Th>{t("topology.host")}</Th>
            {drawn.nets.map((net) => (
              <Th key={net.cidr} modifier="wrap">
                {net.cidr} {net.isMachine && `(${t("topology.machine")})`}
              </Th>
            ))}
          </Tr>
        </Thead>
        <Tbody>
          {drawn.nodes.map((node) => (
            <Tr key={node.id}>
              <Td dataLabel={t("topology.host")}>
                {node.name} {!node.isIn && <span className="app-bad">{t("topology.out")}</span>}
              </Td>
              {drawn.nets.map((net) => (
                <Td key={net.cidr} dataLabel={net.cidr}>
                  {node.places.get(net.cidr) ?? "–"}
                </Td>
              ))}
            </Tr>
          ))}
        </Tbody>
      </Table>
      {drawn.vips.length > 0 && (
        <Table variant="compact" aria-label={t("topology.vips")}>
          <Tbody>
            {drawn.vips.map((vip) => (
              <Tr key={`${vip.kind} ${vip.ip}`}>
                <Td>{t(`topology.${vip.kind}`)}</Td>
                <Td>{vip.ip}</Td>
                <Td>{t(`topology.vip.${vip.state}`)}</Td>
              </Tr>
            ))}
          </Tbody>
        </Table>
      )}
    </>
  );
}
