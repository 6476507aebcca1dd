// SPDX-License-Identifier: Apache-2.0
import { parse } from "yaml";
import { expect, test } from "vitest";
import { checkSimple, EMPTY, macsOf, missingIn, simpleOf, yamlOf, type Simple } from "./simple";

const ONE: Simple = { ...EMPTY, cards: "52:54:00:00:00:01", address4: "192.0.2.20/24", gateway4: "192.0.2.1", dns: "192.0.2.1" };
const BOTH: Simple = {
  cards: "52:54:00:00:00:01\n52:54:00:00:00:02",
  mode: "802.3ad",
  vlan: "42",
  address4: "192.0.2.20/24",
  gateway4: "192.0.2.1",
  address6: "2001:db8::20/64",
  gateway6: "fe80::1",
  dns: "192.0.2.1 2001:db8::1",
};

test("one card has its address, its gateway and its name servers", () => {
  expect(parse(yamlOf(ONE))).toEqual({
    interfaces: [
      {
        name: "eth0",
        type: "ethernet",
        state: "up",
        ipv4: { enabled: true, address: [{ ip: "192.0.2.20", "prefix-length": 24 }] },
      },
    ],
    "dns-resolver": { config: { server: ["192.0.2.1"] } },
    routes: { config: [{ destination: "0.0.0.0/0", "next-hop-address": "192.0.2.1", "next-hop-interface": "eth0" }] },
  });
  expect(macsOf(ONE)).toBe("52:54:00:00:00:01 eth0");
});

test("of a VLAN on a bond only the VLAN has addresses", () => {
  const tree = parse(yamlOf(BOTH)) as { interfaces: { name: string; ipv4?: object }[]; routes: { config: object[] } };
  expect(tree.interfaces.map((each) => [each.name, Boolean(each.ipv4)])).toEqual([
    ["eth0", false],
    ["eth1", false],
    ["bond0", false],
    ["bond0.42", true],
  ]);
  expect(tree.interfaces[2]).toMatchObject({ "link-aggregation": { mode: "802.3ad", port: ["eth0", "eth1"] } });
  expect(tree.interfaces[3]).toMatchObject({ vlan: { "base-iface": "bond0", id: 42 } });
  expect(tree.routes.config).toHaveLength(2);
});

test.each([ONE, BOTH, { ...ONE, gateway4: "", dns: "" }, { ...EMPTY, cards: "52:54:00:00:00:01", address6: "2001:db8::1/64" }])(
  "what a form wrote is a form again",
  (simple) => expect(simpleOf(yamlOf(simple), macsOf(simple))).toEqual(simple),
);

test("what a form cannot say stays YAML", () => {
  expect(simpleOf(`${yamlOf(ONE)}hostname: a\n`, macsOf(ONE))).toBeNull();
  expect(simpleOf(yamlOf(ONE), "52:54:00:00:00:01 eno1")).toBeNull();
  expect(simpleOf("", "")).toBeNull();
});

test("every field says what is wrong with it", () => {
  const wrong = checkSimple({
    cards: "52:54:00",
    mode: "x",
    vlan: "4095",
    address4: "192.0.2.0/24",
    gateway4: "198.51.100.1",
    address6: "192.0.2.1/24",
    gateway6: "x",
    dns: "dns.example.com",
  });
  expect(Object.values(wrong).every(Boolean)).toBe(true);
  expect(Object.values(checkSimple(BOTH)).some(Boolean)).toBe(false);
  expect(checkSimple({ ...EMPTY, gateway4: "192.0.2.1" }).gateway4).not.toBe("");
});

test("what is missing is named", () => {
  expect(missingIn(EMPTY)).not.toBe("");
  expect(missingIn({ ...EMPTY, cards: "52:54:00:00:00:01" })).not.toBe("");
  expect(missingIn(ONE)).toBe("");
});
