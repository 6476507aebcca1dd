// SPDX-License-Identifier: Apache-2.0
/** The way from details to installation. The service says which step is ready; the page only asks. */
import { type ReactNode, Suspense, useEffect, useRef } from "react";
import { Content, PageSection } from "@patternfly/react-core";
import { OperatorsStep } from "../addons/OperatorsStep";
import type { Cluster, StepId, Why, WizardStep } from "../api/types";
import { ClusterStatus } from "../clusters/ClusterStatus";
import { CredentialsStep } from "../credentials/CredentialsStep";
import { DiscoveryStep } from "../hosts/DiscoveryStep";
import { t } from "../i18n";
import { ManifestsStep } from "../manifests/ManifestsStep";
import { NetworkingStep } from "../networking/NetworkingStep";
import { ReviewStep } from "../review/ReviewStep";
import { go, pathOf } from "../routing";
import { StorageStep } from "../storage/StorageStep";
import { Blocks } from "./Blocks";
import { firstOpen, isStep, ORDER, stepOf } from "./blocks";
import { DetailsStep } from "./DetailsStep";
import { StartOver } from "./StartOver";
import { StepFooter } from "./StepFooter";
import { type Flush, FlushContext } from "./flush";
import { StepNav } from "./StepNav";

interface Props {
  cluster: Cluster;
  steps: WizardStep[];
  why?: Why;
  part: string;
}

export function Wizard({ cluster, steps, part }: Props) {
  const current = isStep(part) ? part : firstOpen(steps);
  const heading = useRef<HTMLHeadingElement>(null);
  const flush = useRef<Flush>(async () => true);
  const isFirst = useRef(true);

  useEffect(() => {
    if (!isStep(part)) go(pathOf(cluster.id, current), { replace: true });
  }, [cluster.id, current, part]);

  useEffect(() => {
    if (!isFirst.current) heading.current?.focus();
    isFirst.current = false;
  }, [current]);

  const step = stepOf(steps, current);
  const at = ORDER.indexOf(current);
  return (
    <PageSection hasBodyWrapper={false} className="app-wizard" isFilled>
      <header className="app-wizard-head">
        <Content component="h1">{cluster.name}</Content>
        <ClusterStatus cluster={cluster} />
        <StartOver cluster={cluster} />
      </header>
      <StepNav clusterId={cluster.id} steps={steps} current={current} />
      <section className="app-wizard-body" aria-labelledby="step-title">
        <h2 id="step-title" ref={heading} tabIndex={-1} className="app-step-title">
          {t(`step.${current}`)}
        </h2>
        <FlushContext.Provider value={flush}>
          <Suspense fallback={<p>{t("wizard.loading")}</p>}>
            <Step key={current} id={current} cluster={cluster} steps={steps} />
          </Suspense>
        </FlushContext.Provider>
        <Blocks clusterId={cluster.id} step={step} steps={steps} />
        <StepFooter cluster={cluster} step={step} before={ORDER[at - 1]} next={ORDER[at + 1]} flush={flush} />
      </section>
    </PageSection>
  );
}

function Step({ id, cluster, steps }: { id: StepId; cluster: Cluster; steps: WizardStep[] }): ReactNode {
  switch (id) {
    case "cluster-details":
      return <DetailsStep cluster={cluster} />;
    case "operators":
      return <OperatorsStep cluster={cluster} />;
    case "host-discovery":
      return <DiscoveryStep cluster={cluster} />;
    case "storage":
      return <StorageStep cluster={cluster} />;
    case "networking":
      return <NetworkingStep cluster={cluster} />;
    case "custom-manifests":
      return <ManifestsStep cluster={cluster} />;
    case "credentials":
      return <CredentialsStep cluster={cluster} />;
    case "review":
      return <ReviewStep cluster={cluster} steps={steps} />;
  }
}
