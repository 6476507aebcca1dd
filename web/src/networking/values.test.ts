// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Cluster } from "../api/types";
import { checkValues, paramsOf, secondStack, valuesOf } from "./values";

const CLUSTER = {
  control_plane_count: 3,
  cluster_networks: [{ cidr: "10.128.0.0/14", host_prefix: 23 }],
  service_networks: [{ cidr: "172.30.0.0/16" }],
} as unknown as Cluster;
const KNOWN = ["192.0.2.0/24"];

test("one address is sent as a list, and the rest is left alone", () => {
  const whole = { ...valuesOf(CLUSTER), api1: "192.0.2.200" };
  expect(paramsOf({ api1: "192.0.2.200" }, whole, KNOWN)).toEqual({ api_vips: [{ ip: "192.0.2.200" }] });
});

test("the same address twice is never sent", () => {
  const whole = { ...valuesOf(CLUSTER), api1: "192.0.2.200", ingress1: "192.0.2.200" };
  expect(checkValues(whole, KNOWN).ingress1).toContain("two addresses");
  expect(paramsOf({ ingress1: "192.0.2.200" }, whole, KNOWN)).toEqual({});
});

test("an empty address takes the old one away", () => {
  expect(paramsOf({ api1: "" }, valuesOf(CLUSTER), KNOWN)).toEqual({ api_vips: [] });
});

test("a second stack brings ranges of its own", () => {
  const value = valuesOf(CLUSTER);
  const more = secondStack(value, {
    cluster_networks_dualstack: [{}, { cidr: "fd01::/48", host_prefix: 64 }],
    service_networks_dualstack: [{}, { cidr: "fd02::/112" }],
  });
  const params = paramsOf(more, { ...value, ...more }, KNOWN);
  expect(params.cluster_networks).toEqual([
    { cidr: "10.128.0.0/14", host_prefix: 23 },
    { cidr: "fd01::/48", host_prefix: 64 },
  ]);
  expect(params.service_networks).toEqual([{ cidr: "172.30.0.0/16" }, { cidr: "fd02::/112" }]);
});

test("ranges that overlap are refused at once", () => {
  expect(checkValues({ ...valuesOf(CLUSTER), services1: "10.128.0.0/16" }, KNOWN).services1).toContain("10.128.0.0/14");
});
