// SPDX-License-Identifier: Apache-2.0
/** What is installed on top of the cluster: single add-ons, or a bundle of them. */
import { useState } from "react";
import { Checkbox, Content, EmptyState, EmptyStateBody, Gallery } from "@patternfly/react-core";
import { getAddOns, updateCluster } from "../api/calls";
import type { Cluster } from "../api/types";
import { sentence, t } from "../i18n";
import { Failure } from "../shell/Failure";
import { useAsked } from "../store/asked";
import { noteCluster } from "../store/clusters";
import { AddOnCard } from "./AddOnCard";

export function OperatorsStep({ cluster }: { cluster: Cluster }) {
  const { found, error, again } = useAsked(() => getAddOns(cluster.id), [cluster.id]);
  const [failed, setFailed] = useState<unknown>();
  if (error && !found) return <Failure error={error} title={t("addons.failed")} />;
  if (!found) return <p role="status">{t("addons.loading")}</p>;
  const { add_ons: all = [], bundles = [], trouble } = found;
  if (!all.length) {
    return (
      <EmptyState titleText={t(trouble ? "addons.failed" : "addons.none")} headingLevel="h3">
        <EmptyStateBody>{trouble ? sentence(trouble) : t("addons.none.text")}</EmptyStateBody>
      </EmptyState>
    );
  }
  const chosen = new Set(all.filter((each) => each.chosen).map((each) => each.id));

  function choose(ids: string[], isChosen: boolean): void {
    const wanted = new Set(chosen);
    for (const id of ids) wanted[isChosen ? "add" : "delete"](id);
    setFailed(undefined);
    updateCluster(cluster.id, { olm_operators: [...wanted].map((name) => ({ name })) })
      .then(noteCluster, setFailed)
      .then(again);
  }

  return (
    <>
      <Content component="p">{t("addons.intro")}</Content>
      <Failure error={failed} title={t("addons.change.failed")} onClose={() => setFailed(undefined)} />
      {bundles.map((bundle) => (
        <Checkbox
          key={bundle.id}
          id={`bundle-${bundle.id}`}
          label={t("addons.bundle", { name: bundle.id })}
          description={bundle.add_ons.join(", ")}
          isChecked={bundle.add_ons.every((id) => chosen.has(id)) || (bundle.add_ons.some((id) => chosen.has(id)) ? null : false)}
          onChange={(_event, isChosen) => choose(bundle.add_ons, isChosen)}
        />
      ))}
      <Gallery hasGutter minWidths={{ default: "18rem" }}>
        {all.map((each) => (
          <AddOnCard key={each.id} addOn={each} onChange={(isChosen) => choose([each.id], isChosen)} />
        ))}
      </Gallery>
    </>
  );
}
