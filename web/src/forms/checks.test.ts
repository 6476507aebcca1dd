// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import * as checks from "./checks";

test.each([
  ["alpha", ""],
  ["", "Give the cluster a name."],
  ["Alpha", "Use lower-case letters only."],
  ["al pha", "“ ” cannot be part of it"],
  ["-alpha", "begin and end"],
  ["a".repeat(55), "55 characters"],
])("name %j", (text, words) => {
  expect(checks.checkName(text)).toContain(words);
  expect(Boolean(checks.checkName(text))).toBe(Boolean(words));
});

test.each([
  ["192.0.2.10", ""],
  ["192.0.2.999", "no IP address"],
  ["192.0.2.0", "not an address that a machine can have"],
  ["192.0.2.255", "not an address that a machine can have"],
  ["198.51.100.1", "not an address that a machine can have"],
  ["2001:db8::1", ""],
])("virtual address %s in 192.0.2.0/24", (text, words) => {
  expect(checks.checkVip(text, ["192.0.2.0/24"])).toContain(words);
  expect(Boolean(checks.checkVip(text, ["192.0.2.0/24"]))).toBe(Boolean(words));
});

test.each([
  ["10.0.0.0/8", true],
  ["fd01::/48", true],
  ["10.0.0.1/8", false],
  ["10.0.0.0", false],
  ["10.0.0.0/33", false],
  ["nonsense", false],
  ["1::2::3/64", false],
])("network %s", (text, isFine) => {
  expect(checks.checkCidr(text) === "").toBe(isFine);
});

test("a pull secret with line breaks from a terminal is mended", () => {
  const broken = '{"auths": {"registry.example.com": {"au\n  th": "dXNl\r\ncg=="}}}\n';
  expect(checks.checkPullSecret(broken)).toBe("");
  expect(JSON.parse(checks.mendPullSecret(broken))).toEqual({ auths: { "registry.example.com": { auth: "dXNlcg==" } } });
});

test("what is no pull secret is said to be none", () => {
  expect(checks.checkPullSecret("hello")).toContain("not JSON");
  expect(checks.checkPullSecret("[]")).toContain("auths");
  expect(checks.checkPullSecret("null")).toContain("auths");
});

test("a private key is never taken for a public one", () => {
  expect(checks.checkSshKey("-----BEGIN OPENSSH PRIVATE KEY-----")).toContain("do not give it away");
  expect(checks.checkSshKey("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA me@example.com")).toBe("");
});

test.each([
  ["", ""],
  ["*", ""],
  [".example.com,10.0.0.0/8 192.0.2.1,*.example.org,localhost", ""],
  ["http://proxy.example.com", "http://proxy.example.com is no name, address or network"],
  ["ex_ample.com", "“_” cannot be part of it"],
])("without proxy %j", (text, words) => {
  expect(checks.checkNoProxy(text)).toContain(words);
  expect(Boolean(checks.checkNoProxy(text))).toBe(Boolean(words));
});
