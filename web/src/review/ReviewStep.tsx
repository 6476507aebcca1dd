// SPDX-License-Identifier: Apache-2.0
/** Everything that will be installed, on one page that prints well. */
import type { ReactNode } from "react";
import {
  Alert,
  Button,
  Content,
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
} from "@patternfly/react-core";
import PrintIcon from "@patternfly/react-icons/dist/esm/icons/print-icon";
import { listManifests } from "../api/calls";
import type { Cluster, StepId, WizardStep } from "../api/types";
import { sortHosts } from "../hosts/facts";
import { t } from "../i18n";
import { isSingle } from "../networking/values";
import { pathOf } from "../routing";
import { Go } from "../shell/Go";
import { useAsked } from "../store/asked";
import { HostSummary } from "./HostSummary";

export function ReviewStep({ cluster, steps }: { cluster: Cluster; steps: WizardStep[] }) {
  const isFine = steps.every((each) => each.ready);
  return (
    <div className="app-review">
      <div className="app-row">
        <Content component="p">{t("review.intro")}</Content>
        <Button variant="link" icon={<PrintIcon />} onClick={() => window.print()} className="app-noprint">
          {t("review.print")}
        </Button>
      </div>
      <Alert component="h3" isInline variant="warning" title={t("review.erase")} />
      <Part title={t("review.cluster")} step="cluster-details" cluster={cluster}>
        <Facts facts={clusterFacts(cluster)} />
      </Part>
      <Part title={t("review.network")} step="networking" cluster={cluster}>
        <Facts facts={networkFacts(cluster)} />
      </Part>
      <Part title={t("review.addons")} step="operators" cluster={cluster}>
        {addOnNames(cluster) || t("app.none")}
      </Part>
      <Part title={t("review.manifests")} step="custom-manifests" cluster={cluster}>
        <Manifests cluster={cluster} />
      </Part>
      <Part title={t("review.hosts")} step="host-discovery" cluster={cluster}>
        <HostSummary hosts={sortHosts(cluster.hosts)} />
      </Part>
      <p>{t(isFine ? "review.checks.fine" : "review.checks.open")}</p>
    </div>
  );
}

function Part({ title, step, cluster, children }: { title: string; step: StepId; cluster: Cluster; children: ReactNode }) {
  return (
    <section className="app-part">
      <h3>
        {title}{" "}
        <Go to={pathOf(cluster.id, step)} className="app-noprint app-change" aria-label={`${t("review.change")}: ${title}`}>
          {t("review.change")}
        </Go>
      </h3>
      {children}
    </section>
  );
}

function Manifests({ cluster }: { cluster: Cluster }) {
  const all = useAsked(() => listManifests(cluster.id), [cluster.id]).found ?? [];
  const own = all.filter((each) => each.manifest_source !== "system");
  return <>{own.map((each) => `${each.folder}/${each.file_name}`).join(", ") || t("app.none")}</>;
}

type Fact = [name: string, text: string];

function Facts({ facts }: { facts: Fact[] }) {
  return (
    <DescriptionList isHorizontal isCompact>
      {facts
        .filter(([, text]) => text)
        .map(([name, text]) => (
          <DescriptionListGroup key={name}>
            <DescriptionListTerm>{name}</DescriptionListTerm>
            <DescriptionListDescription>{text}</DescriptionListDescription>
          </DescriptionListGroup>
        ))}
    </DescriptionList>
  );
}

function clusterFacts(cluster: Cluster): Fact[] {
  const count = cluster.control_plane_count ?? 3;
  return [
    [t("review.address"), `${cluster.name}.${cluster.base_dns_domain ?? ""}`],
    [t("details.version"), cluster.openshift_version ?? ""],
    [t("details.architecture"), cluster.cpu_architecture ?? ""],
    [t("details.topology"), t(`details.topology.${count as 1 | 3 | 4 | 5}`)],
    [t("review.secret"), t(cluster.pull_secret_set ? "app.yes" : "app.no")],
    [t("review.proxy"), [cluster.http_proxy, cluster.https_proxy].filter(Boolean).join(", ")],
    [t("review.ntp"), cluster.additional_ntp_source ?? ""],
  ];
}

function networkFacts(cluster: Cluster): Fact[] {
  const list = (items: readonly { cidr?: string | null; ip?: string | null }[] | null | undefined) =>
    (items ?? []).map((each) => each.cidr ?? each.ip ?? "").join(", ");
  const who: Fact[] = isSingle(cluster)
    ? []
    : [[t("network.who"), t(cluster.user_managed_networking ? "network.user" : "network.cluster")]];
  return [
    ...who,
    [t("network.machine"), list(cluster.machine_networks)],
    [t("network.api"), list(cluster.api_vips)],
    [t("network.ingress"), list(cluster.ingress_vips)],
    [t("network.pods1"), list(cluster.cluster_networks)],
    [t("network.services1"), list(cluster.service_networks)],
    [t("network.ssh"), (cluster.ssh_public_key ?? "").split(/\s+/).slice(-1)[0] ?? ""],
  ];
}

function addOnNames(cluster: Cluster): string {
  return (cluster.monitored_operators ?? [])
    .filter((each) => each.operator_type === "olm")
    .map((each) => each.name)
    .join(", ");
}
