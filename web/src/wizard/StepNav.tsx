// SPDX-License-Identifier: Apache-2.0
/** The steps at the side: every one can be looked at at any time; a mark says which is done. */
import CheckCircleIcon from "@patternfly/react-icons/dist/esm/icons/check-circle-icon";
import ExclamationTriangleIcon from "@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon";
import InProgressIcon from "@patternfly/react-icons/dist/esm/icons/in-progress-icon";
import { Icon } from "@patternfly/react-core";
import type { StepId, WizardStep } from "../api/types";
import { t } from "../i18n";
import { pathOf } from "../routing";
import { Go } from "../shell/Go";
import { ORDER, sortBlocks, stepOf } from "./blocks";

interface Props {
  clusterId: string;
  steps: WizardStep[];
  current: StepId;
}

export function StepNav({ clusterId, steps, current }: Props) {
  return (
    <nav className="app-steps" aria-label={t("wizard.steps")}>
      <ol>
        {ORDER.map((id, at) => {
          const mark = markOf(stepOf(steps, id));
          return (
            <li key={id}>
              <Go
                to={pathOf(clusterId, id)}
                className="app-step"
                aria-current={id === current ? "step" : undefined}
                data-testid={`step-${id}`}
                data-state={mark}
              >
                <span className="app-step-mark">
                  <Mark mark={mark} />
                </span>
                <span>
                  {at + 1}. {t(`step.${id}`)}
                  <span className="pf-v6-screen-reader"> ({t(`step.mark.${mark}`)})</span>
                </span>
              </Go>
            </li>
          );
        })}
      </ol>
    </nav>
  );
}

type MarkName = "ready" | "blocked" | "waits" | "later";

function markOf(step: WizardStep): MarkName {
  if (step.ready) return "ready";
  const { faults, waits } = sortBlocks(step.blocked_by ?? []);
  return faults.length ? "blocked" : waits.length ? "waits" : "later";
}

function Mark({ mark }: { mark: MarkName }) {
  if (mark === "ready") return <Icon status="success"><CheckCircleIcon /></Icon>;
  if (mark === "blocked") return <Icon status="warning"><ExclamationTriangleIcon /></Icon>;
  if (mark === "waits") return <Icon status="info"><InProgressIcon /></Icon>;
  return <span className="app-step-later" />;
}
