// SPDX-License-Identifier: Apache-2.0
import { act, cleanup, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError, Unreachable } from "../api/errors";
import { AGAIN_MS, useAsked } from "./asked";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));

test.each([new Unreachable(), new ApiError(503, "starting")])("who does not answer is asked until they do", async (error) => {
  const ask = vi.fn().mockRejectedValueOnce(error).mockRejectedValueOnce(error).mockResolvedValue("here");
  const { result } = renderHook(() => useAsked(ask, []));
  await pass(0);
  expect(result.current.error).toBe(error);
  await pass(AGAIN_MS);
  await pass(AGAIN_MS);
  expect(result.current.found).toBe("here");
  expect(result.current.error).toBeUndefined();
  await pass(5 * AGAIN_MS);
  expect(ask).toHaveBeenCalledTimes(3);
});

test("a question that was refused is not asked again by itself", async () => {
  const ask = vi.fn().mockRejectedValue(new ApiError(404, "no such thing"));
  const { result } = renderHook(() => useAsked(ask, []));
  await pass(5 * AGAIN_MS);
  expect(ask).toHaveBeenCalledTimes(1);
  act(() => result.current.again());
  await pass(0);
  expect(ask).toHaveBeenCalledTimes(2);
});

test("nobody is asked for a component that is not shown any more", async () => {
  const ask = vi.fn().mockRejectedValue(new Unreachable());
  const { unmount } = renderHook(() => useAsked(ask, []));
  await pass(0);
  unmount();
  await pass(5 * AGAIN_MS);
  expect(ask).toHaveBeenCalledTimes(1);
});
