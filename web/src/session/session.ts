// SPDX-License-Identifier: Apache-2.0
/** Who we are to the service. When a session ends, requests wait for the next login and then go on. */
import type { LoginAnswer } from "../api/types";
import { readError } from "../api/errors";
import { makeStore } from "../store/store";

const PATH = "/api/assisted-install/v2/login";

export interface SessionState {
  /** unknown: not asked yet; out: nobody; in: logged in; expired: was in, and has to log in again. */
  phase: "unknown" | "out" | "in" | "expired";
  ways: string[];
  expiresAt: string;
}

const store = makeStore<SessionState>({ phase: "unknown", ways: [], expiresAt: "" });
let csrf = "";
let waiting: (() => void)[] = [];

async function look(): Promise<boolean> {
  const response = await fetch(PATH, { cache: "no-store" });
  if (!response.ok) throw await readError(response);
  const answer = (await response.json()) as LoginAnswer;
  csrf = answer.csrf_token ?? "";
  const isIn = Boolean(answer.persona);
  store.set((old) => ({
    phase: isIn ? "in" : old.phase === "in" || old.phase === "expired" ? "expired" : "out",
    ways: answer.ways ?? old.ways,
    expiresAt: answer.expires_at ?? "",
  }));
  if (isIn) release();
  return isIn;
}

function release(): void {
  for (const go of waiting.splice(0)) go();
}

export const session = {
  store,
  get csrf(): string {
    return csrf;
  },
  look,
  /** Get the second lock again, which another tab's login changed; whether there is a session at all. */
  async renew(): Promise<boolean> {
    const before = csrf;
    return (await look()) && csrf !== before;
  },
  /** Wait until somebody has logged in. */
  require(): Promise<void> {
    store.set((old) => ({ ...old, phase: old.phase === "unknown" || old.phase === "out" ? "out" : "expired" }));
    return new Promise((resolve) => waiting.push(resolve));
  },
  async logIn(proof: { code?: string; password?: string }): Promise<void> {
    const response = await fetch(PATH, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...proof, cookie: true }),
    });
    if (!response.ok) throw await readError(response);
    await look();
  },
  async logOut(): Promise<void> {
    await fetch(PATH, { method: "DELETE", headers: { "X-CSRF-Token": csrf } });
    csrf = "";
    waiting = [];
    store.set((old) => ({ ...old, phase: "out" }));
  },
};
