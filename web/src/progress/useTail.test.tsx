// SPDX-License-Identifier: Apache-2.0
import { act, cleanup, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useTail } from "./useTail";

interface Asked {
  url: string;
  prefer?: string;
  answer: (body: object) => Promise<void>;
  fail: () => Promise<void>;
}

let asked: Asked[];

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    return new Promise((resolve, reject) => {
      asked.push({
        url,
        prefer: (init.headers as Record<string, string>).Prefer,
        answer: (body) => act(async () => resolve(new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } }))),
        fail: () => act(async () => reject(new TypeError("gone"))),
      });
    });
  });
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("lines are added as they come, by requests that wait for them", async () => {
  const { result } = renderHook(() => useTail("c", "h", ""));
  expect(asked[0]!.prefer).toBeUndefined();
  await asked[0]!.answer({ lines: ["one"], live: true, next: 1 });
  expect(asked[1]!.url).toContain("after=1");
  expect(asked[1]!.prefer).toBe("wait=25");
  await asked[1]!.answer({ lines: ["two"], live: true, next: 2 });
  expect(result.current.lines).toEqual(["one", "two"]);
});

test("a log that is a file is asked for again after a while", async () => {
  const { result } = renderHook(() => useTail("c", "h", ""));
  await asked[0]!.answer({ lines: ["of the file"], live: false, file: "journal.log" });
  expect(result.current.isThere).toBe(true);
  expect(asked).toHaveLength(1);
  await act(() => vi.advanceTimersByTimeAsync(5000));
  expect(asked).toHaveLength(2);
  expect(asked[1]!.url).not.toContain("after");
});

test("when the service was away everything is read again, and nothing is there twice", async () => {
  const { result } = renderHook(() => useTail("c", "h", ""));
  await asked[0]!.answer({ lines: ["one", "two"], live: true, next: 2 });
  await asked[1]!.fail();
  expect(result.current.lines).toEqual(["one", "two"]);
  await act(() => vi.advanceTimersByTimeAsync(5000));
  await asked[2]!.answer({ lines: ["three"], live: true, next: 1 });
  expect(result.current.lines).toEqual(["three"]);
});
