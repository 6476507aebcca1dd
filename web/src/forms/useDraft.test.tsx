// SPDX-License-Identifier: Apache-2.0
import { act, cleanup, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useDraft } from "./useDraft";

interface Values {
  name: string;
  domain: string;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function draft(save: (changed: Partial<Values>) => Promise<unknown>) {
  return renderHook(
    ({ from }: { from: Values }) =>
      useDraft({ from, save, check: (value) => ({ name: value.name.includes(" ") ? "no spaces" : "" }) }),
    { initialProps: { from: { name: "alpha", domain: "example.com" } } },
  );
}

test("what nobody touched follows the service, what was typed stays", () => {
  const { result, rerender } = draft(() => new Promise(() => undefined));
  act(() => result.current.set("name", "beta"));
  rerender({ from: { name: "gamma", domain: "example.org" } });
  expect(result.current.value).toEqual({ name: "beta", domain: "example.org" });
});

test("what was typed is saved once it is quiet, and then follows the service again", async () => {
  const save = vi.fn(async () => undefined);
  const { result, rerender } = draft(save);
  act(() => result.current.set("name", "b"));
  act(() => result.current.set("name", "beta"));
  expect(save).not.toHaveBeenCalled();
  await act(() => vi.advanceTimersByTimeAsync(1000));
  expect(save).toHaveBeenCalledTimes(1);
  expect(save).toHaveBeenCalledWith({ name: "beta" }, { name: "beta", domain: "example.com" });
  rerender({ from: { name: "from another tab", domain: "example.com" } });
  expect(result.current.value.name).toBe("from another tab");
});

test("what is wrong is not saved, and keeps the step from being left", async () => {
  const save = vi.fn(async () => undefined);
  const { result } = draft(save);
  act(() => result.current.set("name", "al pha"));
  await act(() => vi.advanceTimersByTimeAsync(1000));
  expect(save).not.toHaveBeenCalled();
  expect(result.current.faults.name).toBe("no spaces");
  expect(await result.current.flush()).toBe(false);
});

test("a refusal is shown, and what was typed is still there", async () => {
  const { result } = draft(() => Promise.reject(new Error("taken")));
  act(() => result.current.set("name", "beta"));
  await act(() => vi.advanceTimersByTimeAsync(1000));
  expect(result.current.error).toEqual(new Error("taken"));
  expect(result.current.value.name).toBe("beta");
});
