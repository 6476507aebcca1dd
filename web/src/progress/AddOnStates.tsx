// SPDX-License-Identifier: Apache-2.0
/** The add-ons that were chosen, and whether they are ready. */
import { Label, LabelGroup } from "@patternfly/react-core";
import type { Cluster } from "../api/types";
import { t, tw } from "../i18n";

const LOOKS = { available: "success", failed: "danger", progressing: "info" } as const;

export function AddOnStates({ cluster }: { cluster: Cluster }) {
  const found = (cluster.monitored_operators ?? []).filter((each) => each.operator_type === "olm" || each.status);
  if (!found.length) return null;
  return (
    <section className="app-part" aria-labelledby="addons-title">
      <h2 id="addons-title" className="app-step-title">
        {t("progress.addons")}
      </h2>
      <LabelGroup numLabels={50} aria-labelledby="addons-title">
        {found.map((each) => (
          <Label key={each.name} status={each.status ? LOOKS[each.status] : undefined} title={each.status_info ?? ""}>
            {each.name}: {tw("addon.state", each.status ?? "waiting")}
          </Label>
        ))}
      </LabelGroup>
    </section>
  );
}
