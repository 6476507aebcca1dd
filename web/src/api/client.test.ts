// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { session } from "../session/session";
import { ask, forget } from "./client";
import { ApiError, Unreachable } from "./errors";

type Sent = { path: string; method: string; headers: Record<string, string>; body?: string };
let sent: Sent[];
let answers: ((request: Sent) => Response | undefined)[];

const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(body === undefined ? null : JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });

beforeEach(() => {
  sent = [];
  answers = [];
  forget();
  vi.stubGlobal("fetch", async (path: string, init: RequestInit = {}) => {
    const request = { path, method: init.method ?? "GET", headers: (init.headers ?? {}) as Record<string, string>, body: init.body as string };
    sent.push(request);
    for (const answer of answers) {
      const found = answer(request);
      if (found) return found;
    }
    throw new TypeError("no such host");
  });
});
afterEach(() => vi.unstubAllGlobals());

test("a change that meets the end of the session waits for the login and is then sent again as it was", async () => {
  let isIn = false;
  answers.push(({ path, method }) => {
    if (!path.endsWith("/login")) return undefined;
    if (method === "POST") isIn = true;
    return json(200, isIn ? { persona: "user", csrf_token: "second", ways: ["code"] } : { ways: ["code"] });
  });
  answers.push(() => (isIn ? json(201, { name: "beta" }) : json(401, { code: 401, message: "log in" })));
  const change = ask("/clusters/1", { method: "PATCH", body: { name: "beta" } });
  await vi.waitFor(() => expect(session.store.get().phase).toBe("out"));
  await session.logIn({ code: "12345678" });
  expect(await change).toEqual({ name: "beta" });
  const patches = sent.filter((each) => each.method === "PATCH");
  expect(patches).toHaveLength(2);
  expect(patches[1]!.body).toBe('{"name":"beta"}');
  expect(patches[1]!.headers["X-CSRF-Token"]).toBe("second");
});

test("what did not change since is the very same object", async () => {
  answers.push(({ headers }) => (headers["If-None-Match"] === '"1"' ? new Response(null, { status: 304 }) : json(200, { id: "a" }, { etag: '"1"' })));
  const first = await ask("/clusters/1");
  expect(await ask("/clusters/1")).toBe(first);
});

test("an error carries what happened and what to do", async () => {
  answers.push(() => json(400, { reason: "name: it is taken; choose another one", hint: "choose another one" }));
  const error = await ask("/clusters").catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 400, message: "name: it is taken", fix: "choose another one" });
});

test("silence is not an error of the service", async () => {
  await expect(ask("/clusters")).rejects.toBeInstanceOf(Unreachable);
});

test("an answer of something in between is silence, too", async () => {
  answers.push(() => new Response("Bad Gateway", { status: 502, headers: { "content-type": "text/html" } }));
  await expect(ask("/clusters")).rejects.toBeInstanceOf(Unreachable);
});
