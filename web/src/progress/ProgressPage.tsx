// SPDX-License-Identifier: Apache-2.0
/** How the installation goes. */
import { PageSection, Progress, Title } from "@patternfly/react-core";
import type { Cluster, Why } from "../api/types";
import { ClusterStatus } from "../clusters/ClusterStatus";
import { t } from "../i18n";

export function ProgressPage({ cluster }: { cluster: Cluster; why?: Why }) {
  return (
    <PageSection hasBodyWrapper={false}>
      <Title headingLevel="h1">{cluster.name}</Title>
      <ClusterStatus cluster={cluster} />
      <Progress value={cluster.progress?.total_percentage ?? 0} title={t("progress.all")} />
    </PageSection>
  );
}
