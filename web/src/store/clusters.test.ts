// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { forget } from "../api/client";
import type { Cluster } from "../api/types";
import { known, loadChanges, loadCluster } from "./clusters";

let asked: string[];
let hosts: Record<string, { id: string; infra_env_id: string; status: string }>;

beforeEach(() => {
  asked = [];
  forget();
  known.set(() => ({ views: {} }));
  hosts = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`h${at}`, { id: `h${at}`, infra_env_id: "e", status: "known" }]));
  vi.stubGlobal("fetch", async (url: string) => {
    const path = url.replace("/api/assisted-install/v2", "");
    asked.push(path);
    const body = path.includes("/hosts/")
      ? hosts[path.split("/").pop()!]
      : path.endsWith("/steps") || path.endsWith("/why")
        ? []
        : { id: "c", total_host_count: Object.keys(hosts).length, ...(path.includes("exclude-hosts") ? {} : { hosts: Object.values(hosts) }) };
    return new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
  });
});
afterEach(() => vi.unstubAllGlobals());

const shown = () => known.get().views.c!.cluster as Cluster;

test("of 200 hosts only the one that changed is asked for, and only it is another object", async () => {
  await loadCluster("c");
  const before = shown().hosts!;
  asked = [];
  hosts.h7 = { ...hosts.h7!, status: "insufficient" };
  await loadChanges("c", new Set(["host/h7"]));
  expect(asked).toContain("/infra-envs/e/hosts/h7");
  expect(asked).not.toContain("/clusters/c");
  const after = shown().hosts!;
  expect(after[7]!.status).toBe("insufficient");
  expect(after.filter((host, at) => host !== before[at])).toHaveLength(1);
});

test("when a host came or went everything is looked at again", async () => {
  await loadCluster("c");
  delete hosts.h3;
  await loadChanges("c", new Set(["host/h7"]));
  expect(shown().hosts).toHaveLength(199);
});
