// SPDX-License-Identifier: Apache-2.0
/** What stands in the way of a step, in the order in which somebody can mend it. */
import type { Block, StepId, WizardStep } from "../api/types";

export const ORDER: StepId[] = [
  "cluster-details",
  "operators",
  "host-discovery",
  "storage",
  "networking",
  "custom-manifests",
  "credentials",
  "review",
];

export function isStep(text: string): text is StepId {
  return (ORDER as string[]).includes(text);
}

/** What somebody has to mend first; what only waits for something else comes last. */
export function sortBlocks(blocks: Block[]): { faults: Block[]; waits: Block[] } {
  const ofCluster = new Set(blocks.filter((each) => each.of === "cluster").map((each) => each.id));
  // What is said of the cluster need not be said of each of its hosts again.
  const once = blocks.filter((each) => each.of === "cluster" || !ofCluster.has(each.id));
  return {
    faults: once.filter((each) => each.status !== "pending"),
    waits: once.filter((each) => each.status === "pending"),
  };
}

/** Where a person goes on who comes back: the first step that is not ready, or the review. */
export function firstOpen(steps: WizardStep[]): StepId {
  return steps.find((each) => !each.ready && each.id !== "review")?.id ?? "review";
}

export function stepOf(steps: WizardStep[], id: StepId): WizardStep {
  return steps.find((each) => each.id === id) ?? { id, ready: true };
}
