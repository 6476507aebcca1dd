// SPDX-License-Identifier: Apache-2.0
/** Requests to the service: with the session's second lock on changes, and with a login in between if need be. */
import { ApiError, readError, Unreachable } from "./errors";
import { session } from "../session/session";
import { noteTime } from "../store/clock";

export const API = "/api/assisted-install/v2";

interface Asked {
  method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  body?: unknown;
  signal?: AbortSignal;
  /** For how many seconds the service may wait until there is something to say. */
  wait?: number;
}

const seen = new Map<string, { etag: string; value: unknown }>();

/** Ask for JSON. What did not change since the last time is the very same object again. */
export async function ask<T>(path: string, asked: Asked = {}): Promise<T> {
  const response = await send(path, asked);
  if (response.status === 304) return seen.get(path)!.value as T;
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  const value = (text ? JSON.parse(text) : undefined) as T;
  const etag = response.headers.get("etag");
  if (!asked.method && !asked.wait && etag) seen.set(path, { etag, value });
  return value;
}

/** Ask for a file. */
export async function askFile(path: string): Promise<Blob> {
  return (await send(path, {})).blob();
}

/** Forget what was seen, such as when somebody else logs in. */
export function forget(): void {
  seen.clear();
}

async function send(path: string, asked: Asked): Promise<Response> {
  let response = await once(path, asked);
  if (response.status === 403 && asked.method && (await session.renew())) response = await once(path, asked);
  if (response.status === 401) {
    await session.require();
    response = await once(path, asked);
  }
  if (!response.ok && response.status !== 304) throw await readError(response);
  return response;
}

async function once(path: string, { method = "GET", body, signal, wait }: Asked): Promise<Response> {
  const headers: Record<string, string> = {};
  const known = method === "GET" ? seen.get(path) : undefined;
  if (known) headers["If-None-Match"] = known.etag;
  if (method !== "GET") headers["X-CSRF-Token"] = session.csrf;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (wait) headers.Prefer = `wait=${wait}`;
  try {
    const data = body === undefined ? undefined : JSON.stringify(body);
    const response = await fetch(API + path, { method, headers, body: data, signal, cache: "no-store" });
    if (response.status >= 500 && !isJson(response)) throw new Unreachable();
    noteClock(response);
    return response;
  } catch (error) {
    if (error instanceof ApiError || signal?.aborted) throw error;
    throw new Unreachable();
  }
}

/** Our service always says in JSON why it cannot; something else between us and it does not. */
function isJson(response: Response): boolean {
  return (response.headers.get("content-type") ?? "").includes("json");
}

function noteClock(response: Response): void {
  const date = response.headers.get("date");
  if (date) noteTime(Date.parse(date));
}
