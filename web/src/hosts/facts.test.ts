// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Host, Inventory } from "../api/types";
import { contentOf } from "../storage/fate";
import { cableOf } from "./facts";

const found: Inventory = {
  interfaces: [{ name: "eno1" }, { name: "bond0" }, { name: "bond0.7" }],
  disks: [
    { path: "/dev/sda", partitionTypes: "LVM" },
    { path: "/dev/sdb", partitionTypes: "ext4" },
  ],
  extras: {
    neighbours: [{ interface: "eno1", system_name: "leaf-3", port_id: "Ethernet1/7", vlan_id: 42 }],
    links: [
      { name: "bond0", kind: "bond", members: ["eno1", "eno2"] },
      { name: "bond0.7", kind: "vlan", parent: "bond0", vlan_id: 7 },
    ],
    disks: [{ name: "sda", path: "/dev/sda", holds: "contains LVM vg0", health: "failing" }],
  },
};
const host = { id: "h", inventory: JSON.stringify(found) } as Host;

test.each([
  ["eno1", "leaf-3 Ethernet1/7 (VLAN 42); part of bond0"],
  ["bond0", "bond of eno1, eno2"],
  ["bond0.7", "VLAN 7 of bond0"],
])("where %s leads to", (name, words) => {
  expect(cableOf(host, { name })).toBe(words);
});

test("an agent that tells less is believed what it tells", () => {
  expect(contentOf(host, found.disks![0]!)).toEqual(["it says of itself that it fails", "contains LVM vg0"]);
  expect(contentOf(host, found.disks![1]!)[0]).toContain("ext4");
  expect(cableOf({ id: "h" } as Host, { name: "eno1" })).toBe("");
});
