// SPDX-License-Identifier: Apache-2.0
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import axe from "axe-core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { approveEnrolment } from "../api/calls";
import type { Cluster, Host } from "../api/types";
import { Approvals } from "./Approvals";

vi.mock("../api/calls", () => ({ approveEnrolment: vi.fn(() => Promise.resolve({})) }));

const KEY = "3F2A-91C0-77DE-0B14-A5E8";
const request = { key: KEY, address: "192.0.2.9", requested_at: "2026-01-01T00:00:00Z", differs: [`its key is ${KEY} instead of 77DE-0B14`] };
const waiting = (approved: boolean) => ({ id: "h", requested_hostname: "node1", status: "installing", enrolment_request: { ...request, approved } }) as Host;
const quiet = { id: "i", requested_hostname: "node2", status: "installing" } as Host;
const done = { id: "j", requested_hostname: "node3", status: "installed" } as Host;
const show = (...hosts: Host[]) =>
  render(
    <main>
      <h1>Installation</h1>
      <Approvals cluster={{ id: "c", status: "installing", hosts } as unknown as Cluster} />
    </main>,
  );
const type = (text: string) => fireEvent.change(screen.getByLabelText("Key on the console of the host"), { target: { value: text } });
const submit = () => fireEvent.click(screen.getByRole("button", { name: "Approve this key" }));
const open = () => fireEvent.click(screen.getByRole("button", { name: "Approve the key of a host" }));

async function findings(): Promise<string[]> {
  // There is no layout in jsdom, so that nothing can be said of contrast.
  const found = await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } });
  return found.violations.map((each) => each.id);
}

beforeEach(() => vi.mocked(approveEnrolment).mockClear());
afterEach(cleanup);

test("a host with a new key is shown with what differs, and can be approved", async () => {
  show(waiting(false));
  expect(screen.getByTestId("approval").textContent).toContain("node1");
  expect(screen.getByTestId("approval").textContent).toContain("instead of 77DE-0B14");
  expect(screen.getByTestId("approve").textContent).toContain(KEY);
  expect(await findings()).toEqual([]);
});

test("a host that was approved is not shown", () => {
  show(waiting(true));
  expect(screen.queryByTestId("approval")).toBeNull();
});

test("a key that is typed is checked at its field, and approved as the console shows it", async () => {
  show(waiting(false));
  submit();
  const field = screen.getByLabelText("Key on the console of the host");
  expect(field.getAttribute("aria-invalid")).toBe("true");
  expect(screen.getByText("Type the key that the console of the host shows.")).toBeTruthy();
  type("3F2A");
  expect(screen.getByText(/five groups/)).toBeTruthy();
  expect(await findings()).toEqual([]);
  submit();
  expect(approveEnrolment).not.toHaveBeenCalled();
  type(" 77de-0b14-a5e8-3f2a-91c0 ");
  expect(field.getAttribute("aria-invalid")).toBe("false");
  submit();
  expect(approveEnrolment).toHaveBeenCalledWith(expect.objectContaining({ id: "h" }), "77DE-0B14-A5E8-3F2A-91C0");
  expect(await screen.findByText(/is approved for 10 minutes/)).toBeTruthy();
});

test("a host that does not wait can be approved, too, unless it is installed", async () => {
  show(quiet, { ...quiet, id: "k", requested_hostname: "node4" }, done);
  open();
  const hosts = screen.getByLabelText<HTMLSelectElement>("Host");
  expect([...hosts.options].map((each) => each.text)).toEqual(["node2", "node4"]);
  expect(await findings()).toEqual([]);
  fireEvent.change(hosts, { target: { value: "k" } });
  type(KEY);
  submit();
  expect(approveEnrolment).toHaveBeenCalledWith(expect.objectContaining({ id: "k" }), KEY);
});

test("nothing can be approved when all hosts are installed", () => {
  show(done);
  expect(screen.queryByTestId("approve-any")).toBeNull();
});
