// SPDX-License-Identifier: Apache-2.0
/** Back, Next or Install. A button that does not work yet says why, and a click shows it. */
import { type MutableRefObject, useState } from "react";
import { Button } from "@patternfly/react-core";
import { act, getSteps } from "../api/calls";
import type { Cluster, StepId, WizardStep } from "../api/types";
import { t, tn } from "../i18n";
import { go, pathOf } from "../routing";
import { Failure } from "../shell/Failure";
import { note, noteCluster } from "../store/clusters";
import { BLOCKS_ID } from "./Blocks";
import { sortBlocks, stepOf } from "./blocks";
import type { Flush } from "./flush";

interface Props {
  cluster: Cluster;
  step: WizardStep;
  before?: StepId;
  next?: StepId;
  flush: MutableRefObject<Flush>;
}

export function StepFooter({ cluster, step, before, next, flush }: Props) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();

  async function forward(): Promise<void> {
    if (!(await flush.current())) return;
    const steps = await getSteps(cluster.id);
    note(cluster.id, { steps });
    if (!stepOf(steps, step.id).ready) return showBlocks();
    if (next) return go(pathOf(cluster.id, next));
    noteCluster(await act(cluster.id, "install"));
    go(pathOf(cluster.id, "progress"));
  }

  async function press(): Promise<void> {
    setBusy(true);
    setError(undefined);
    try {
      await forward();
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  }

  return (
    <footer className="app-wizard-foot">
      <Failure error={error} title={t(next ? "wizard.failed" : "wizard.install.failed")} />
      <div className="app-wizard-buttons">
        {before && (
          <Button variant="secondary" onClick={() => go(pathOf(cluster.id, before))} data-testid="back">
            {t("wizard.back")}
          </Button>
        )}
        <Button
          variant={step.ready ? "primary" : "secondary"}
          isLoading={busy}
          onClick={() => void press()}
          aria-describedby="why-not"
          data-testid={next ? "next" : "install"}
        >
          {t(next ? "wizard.next" : "wizard.install")}
        </Button>
        <span id="why-not" className="app-quiet" role="status">
          {step.ready ? "" : reason(step)}
        </span>
      </div>
    </footer>
  );
}

function reason(step: WizardStep): string {
  const { faults, waits } = sortBlocks(step.blocked_by ?? []);
  const all = faults.length + (step.id === "review" ? (step.after ?? []).length : 0);
  return all ? tn("wizard.blocked", all) : tn("wizard.waits", waits.length);
}

function showBlocks(): void {
  const found = document.getElementById(BLOCKS_ID);
  found?.scrollIntoView({ block: "center" });
  found?.focus();
}
