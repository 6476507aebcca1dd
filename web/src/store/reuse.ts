// SPDX-License-Identifier: Apache-2.0
/** New data with the parts of the old that are the same, so that only what changed is drawn again. */

type Plain = Record<string, unknown>;

export function reuse<T>(old: T | undefined, fresh: T): T {
  if (Object.is(old, fresh) || old === null || fresh === null) return fresh;
  if (typeof old !== "object" || typeof fresh !== "object") return fresh;
  if (Array.isArray(old) && Array.isArray(fresh)) return reuseList(old, fresh) as T;
  if (Array.isArray(old) || Array.isArray(fresh)) return fresh;
  return reuseObject(old as Plain, fresh as Plain) as T;
}

function reuseObject(old: Plain, fresh: Plain): Plain {
  const keys = Object.keys(fresh);
  let same = keys.length === Object.keys(old).length;
  const made: Plain = {};
  for (const key of keys) {
    made[key] = reuse(old[key], fresh[key]);
    if (!Object.is(made[key], old[key])) same = false;
  }
  return same ? old : made;
}

/** Things with an id are found again by it, wherever in the list they are now. */
function reuseList(old: unknown[], fresh: unknown[]): unknown[] {
  const byId = new Map(old.map((each, at) => [idOf(each) ?? at, each]));
  const made = fresh.map((each, at) => reuse(byId.get(idOf(each) ?? at), each));
  return made.length === old.length && made.every((each, at) => Object.is(each, old[at])) ? old : made;
}

function idOf(value: unknown): string | undefined {
  const id = typeof value === "object" && value !== null ? (value as Plain).id : undefined;
  return typeof id === "string" ? id : undefined;
}
