// SPDX-License-Identifier: Apache-2.0
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import type { Block, WizardStep } from "../api/types";
import { Blocks } from "./Blocks";
import { firstOpen, sortBlocks } from "./blocks";

afterEach(cleanup);

const block = (more: Partial<Block>): Block => ({ id: "has-memory", of: "cluster", title: "Enough memory", message: "too little", status: "failure", ...more });

test("what stands in the way is said with its reason and its remedy", () => {
  const step: WizardStep = { id: "networking", ready: false, blocked_by: [block({ why: "Programs are killed.", fix: "add memory" })] };
  render(<Blocks clusterId="c" step={step} steps={[step]} />);
  expect(screen.getByText("One thing stands in the way")).toBeTruthy();
  expect(screen.getByText("Too little.")).toBeTruthy();
  expect(screen.getByText("Programs are killed.", { exact: false })).toBeTruthy();
  expect(screen.getByText("Add memory.", { exact: false })).toBeTruthy();
});

test("hosts that complain of different things are each heard", () => {
  const hosts = [
    { id: "1", name: "node-1", status: "failure" as const, message: "node-1 has 8 GiB" },
    { id: "2", name: "node-2", status: "failure" as const, message: "node-2 has 4 GiB" },
  ];
  const step: WizardStep = { id: "host-discovery", ready: false, blocked_by: [block({ of: "host", hosts })] };
  render(<Blocks clusterId="c" step={step} steps={[step]} />);
  expect(screen.getByText("node-1: node-1 has 8 GiB.")).toBeTruthy();
  expect(screen.getByText("node-2: node-2 has 4 GiB.")).toBeTruthy();
});

test("the review leads to the steps where something can be done", () => {
  const network: WizardStep = { id: "networking", ready: false, blocked_by: [block({ message: "no address" })] };
  const review: WizardStep = { id: "review", ready: false, after: ["networking"] };
  render(<Blocks clusterId="c" step={review} steps={[network, review]} />);
  expect(screen.getByRole("link", { name: "Networking" }).getAttribute("href")).toBe("/clusters/c/networking");
  expect(screen.getByText("No address.")).toBeTruthy();
});

test("nothing is shown where nothing stands in the way", () => {
  const step: WizardStep = { id: "storage", ready: true };
  const { container } = render(<Blocks clusterId="c" step={step} steps={[step]} />);
  expect(container.textContent).toBe("");
});

test("what is said of the cluster is not said of its hosts again, and what waits comes last", () => {
  const { faults, waits } = sortBlocks([block({}), block({ of: "host" }), block({ id: "later", status: "pending" })]);
  expect(faults.map((each) => each.of)).toEqual(["cluster"]);
  expect(waits.map((each) => each.id)).toEqual(["later"]);
});

test("who comes back goes on at the first step that is open", () => {
  const steps: WizardStep[] = [{ id: "operators", ready: true }, { id: "storage", ready: false }, { id: "review", ready: false }];
  expect(firstOpen(steps)).toBe("storage");
  expect(firstOpen([{ id: "review", ready: false }])).toBe("review");
});
