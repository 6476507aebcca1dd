// SPDX-License-Identifier: Apache-2.0
/** All clusters of the service. */
import { useEffect } from "react";
import { Button, Content, EmptyState, EmptyStateActions, EmptyStateBody, EmptyStateFooter, Flex, FlexItem, PageSection } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import type { Cluster } from "../api/types";
import { t, tn } from "../i18n";
import { dayTime } from "../i18n/time";
import { go, pathOf } from "../routing";
import { Go } from "../shell/Go";
import { Loading } from "../shell/Loading";
import { known } from "../store/clusters";
import { useLive } from "../store/live";
import { useService } from "../store/service";
import { useStore } from "../store/store";
import { ClusterStatus } from "./ClusterStatus";

export function ClustersPage() {
  useLive("list");
  const list = useStore(known, (value) => value.list);
  const { mode } = useService();
  const isOne = mode !== "many";
  useEffect(() => {
    if (!isOne || !list) return;
    if (list[0]) go(pathOf(list[0].id), { replace: true });
    else if (mode === "interactive") go("/new", { replace: true });
  }, [isOne, list, mode]);
  if (!list || (isOne && (list.length || mode === "interactive"))) return <Loading text={t("clusters.loading")} />;
  return (
    <PageSection hasBodyWrapper={false}>
      <Flex>
        <FlexItem grow={{ default: "grow" }}>
          <Content component="h1">{t("clusters.title")}</Content>
        </FlexItem>
        {list.length > 0 && <Button onClick={() => go("/new")}>{t("clusters.new")}</Button>}
      </Flex>
      {list.length ? <ClusterTable clusters={list} /> : <NoClusters />}
    </PageSection>
  );
}

function NoClusters() {
  return (
    <EmptyState titleText={t("clusters.none")} headingLevel="h2">
      <EmptyStateBody>{t("clusters.none.text")}</EmptyStateBody>
      <EmptyStateFooter>
        <EmptyStateActions>
          <Button onClick={() => go("/new")}>{t("clusters.new")}</Button>
        </EmptyStateActions>
      </EmptyStateFooter>
    </EmptyState>
  );
}

function ClusterTable({ clusters }: { clusters: Cluster[] }) {
  return (
    <Table aria-label={t("clusters.title")} variant="compact">
      <Thead>
        <Tr>
          <Th>{t("clusters.name")}</Th>
          <Th>{t("clusters.domain")}</Th>
          <Th>{t("clusters.version")}</Th>
          <Th>{t("clusters.hosts")}</Th>
          <Th>{t("clusters.status")}</Th>
          <Th>{t("clusters.created")}</Th>
        </Tr>
      </Thead>
      <Tbody>
        {clusters.map((each) => (
          <Tr key={each.id}>
            <Td dataLabel={t("clusters.name")}>
              <Go to={pathOf(each.id)}>{each.name}</Go>
            </Td>
            <Td dataLabel={t("clusters.domain")}>{each.base_dns_domain}</Td>
            <Td dataLabel={t("clusters.version")}>{each.openshift_version}</Td>
            <Td dataLabel={t("clusters.hosts")}>{tn("clusters.count", each.total_host_count ?? 0)}</Td>
            <Td dataLabel={t("clusters.status")}>
              <ClusterStatus cluster={each} />
            </Td>
            <Td dataLabel={t("clusters.created")}>{dayTime(each.created_at)}</Td>
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}
