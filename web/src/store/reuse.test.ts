// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { reuse } from "./reuse";

test("what did not change is the same object, what did is another one", () => {
  const old = { name: "alpha", hosts: [{ id: "a", disks: [1] }, { id: "b", disks: [2] }] };
  const fresh = { name: "alpha", hosts: [{ id: "a", disks: [1] }, { id: "b", disks: [3] }] };
  const made = reuse(old, fresh);
  expect(made).toEqual(fresh);
  expect(made.hosts[0]).toBe(old.hosts[0]);
  expect(made.hosts[1]).not.toBe(old.hosts[1]);
});

test("the same again is the very same", () => {
  const old = { hosts: [{ id: "a" }], progress: { percent: 3 } };
  expect(reuse(old, structuredClone(old))).toBe(old);
});

test("things are found again by id when others come before them, and leave when they are gone", () => {
  const old = [{ id: "b" }, { id: "c" }];
  const made = reuse(old, [{ id: "a" }, { id: "b" }]);
  expect(made).toEqual([{ id: "a" }, { id: "b" }]);
  expect(made[1]).toBe(old[0]);
});

test("a field that is gone is gone", () => {
  expect(reuse<object>({ id: "a", error: "x" }, { id: "a" })).toEqual({ id: "a" });
});
