// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Cluster, Farewell } from "../api/types";
import { phaseOf } from "./phase";

const at = (stage: string, status = "installing") =>
  ({ status, hosts: [{ id: "r", bootstrap: true, progress: { current_stage: stage } }] }) as unknown as Cluster;
const farewell: Farewell = { domain: "a.b", api_url: "", rendezvous: { host_id: "r", name: "r", ip: "192.0.2.1" } };

test("it is said before that the page will be away", () => {
  expect(phaseOf(at("Writing image to disk"), farewell, "live", "interactive")).toBe("before");
});

test("silence near the end is the restart; before, it is a fault", () => {
  expect(phaseOf(at("Rebooting"), farewell, "lost", "interactive")).toBe("away");
  expect(phaseOf(at("Waiting for control plane"), farewell, "lost", "interactive")).toBe("away");
  expect(phaseOf(at("Writing image to disk"), farewell, "lost", "interactive")).toBe("none");
});

test("a service that runs elsewhere, or is back, goes nowhere", () => {
  expect(phaseOf(at("Rebooting"), farewell, "live", "many")).toBe("none");
  expect(phaseOf(at("Rebooting"), farewell, "live", "status")).toBe("none");
  expect(phaseOf(at("Done", "installed"), farewell, "lost", "interactive")).toBe("none");
});
