// SPDX-License-Identifier: Apache-2.0
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import type { Cluster } from "../api/types";
import { Approvals } from "./Approvals";

const request = { key: "3F2A-91C0", address: "192.0.2.9", requested_at: "2026-01-01T00:00:00Z", differs: ["its key is 3F2A-91C0 instead of 77DE-0B14"] };
const show = (approved: boolean) =>
  render(<Approvals cluster={{ id: "c", status: "installing", hosts: [{ id: "h", requested_hostname: "node1", enrolment_request: { ...request, approved } }] } as unknown as Cluster} />);

afterEach(cleanup);

test("a host with a new key is shown with what differs, and can be approved", () => {
  show(false);
  expect(screen.getByTestId("approval").textContent).toContain("node1");
  expect(screen.getByTestId("approval").textContent).toContain("instead of 77DE-0B14");
  expect(screen.getByTestId("approve").textContent).toContain("3F2A-91C0");
});

test("a host that was approved is not shown", () => {
  show(true);
  expect(screen.queryByTestId("approval")).toBeNull();
});
