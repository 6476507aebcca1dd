// SPDX-License-Identifier: Apache-2.0
/** One cluster: the wizard as long as it can be changed, then its progress. */
import { PageSection } from "@patternfly/react-core";
import type { Cluster } from "../api/types";
import { t } from "../i18n";
import { ProgressPage } from "../progress/ProgressPage";
import { Loading } from "../shell/Loading";
import { UnknownPage } from "../shell/UnknownPage";
import { useView } from "../store/clusters";
import { useLive } from "../store/live";
import { Wizard } from "../wizard/Wizard";

const BEFORE: Cluster["status"][] = ["insufficient", "pending-for-input", "ready"];

export function ClusterPage({ id, part }: { id: string; part: string }) {
  useLive(id);
  const { cluster, steps, why, isGone } = useView(id);
  if (isGone) {
    return (
      <PageSection hasBodyWrapper={false}>
        <UnknownPage />
      </PageSection>
    );
  }
  if (!cluster || !steps) return <Loading text={t("cluster.loading")} />;
  if (BEFORE.includes(cluster.status)) return <Wizard cluster={cluster} steps={steps} why={why} part={part} />;
  return <ProgressPage cluster={cluster} why={why} />;
}
