// SPDX-License-Identifier: Apache-2.0
/** What stands in the way of a step, in the order in which somebody can mend it. */
import type { Block, CheckTexts, StepId, WizardStep } from "../api/types";

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
  return {
    faults: blocks.filter((each) => each.status !== "pending"),
    waits: blocks.filter((each) => each.status === "pending"),
  };
}

/** The same with the words of the catalogue where the step itself brings none. */
export function withTexts(block: Block, texts: CheckTexts): Block {
  const text = texts[block.of ?? (block.hosts?.length ? "host" : "cluster")][block.id];
  return text ? { ...block, title: block.title ?? text.title, why: block.why ?? text.why, fix: block.fix ?? text.fix } : block;
}

/** Where a person goes on who comes back: the first step that is not ready, or the review. */
export function firstOpen(steps: WizardStep[]): StepId {
  return steps.find((each) => !each.ready && each.id !== "review")?.id ?? "review";
}

export function stepOf(steps: WizardStep[], id: StepId): WizardStep {
  return steps.find((each) => each.id === id) ?? { id, ready: true };
}
