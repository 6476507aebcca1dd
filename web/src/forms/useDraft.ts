// SPDX-License-Identifier: Apache-2.0
/**
 * A form over something that the service has. Fields that nobody touched follow the service; what was typed is
 * saved a moment later if nothing is wrong with it, and stays in the form until the service has it.
 */
import { useCallback, useEffect, useRef, useState } from "react";
import { Unreachable } from "../api/errors";
import type { Fault } from "./checks";

const QUIET_MS = 700;
const AGAIN_MS = 4000;

export interface Draft<T> {
  value: T;
  faults: Partial<Record<keyof T, Fault>>;
  /** Fields that were typed into and are not saved yet. */
  isDirty: boolean;
  isSaving: boolean;
  error: unknown;
  set<K extends keyof T>(field: K, value: T[K]): void;
  /** Save now; whether everything is with the service. */
  flush(): Promise<boolean>;
}

interface Wanted<T> {
  /** What the service has. */
  from: T;
  check?: (value: T) => Partial<Record<keyof T, Fault>>;
  save: (changed: Partial<T>, whole: T) => Promise<unknown>;
}

export function useDraft<T extends object>(wanted: Wanted<T>): Draft<T> {
  const [typed, setTyped] = useState<Partial<T>>({});
  const [isSaving, setSaving] = useState(false);
  const [error, setError] = useState<unknown>();
  const now = useRef({ ...wanted, typed });
  now.current = { ...wanted, typed: now.current.typed };
  const value = { ...wanted.from, ...typed };
  const faults: Partial<Record<keyof T, Fault>> = wanted.check?.(value) ?? {};

  const put = useCallback((next: Partial<T>) => {
    now.current.typed = next;
    setTyped(next);
  }, []);

  const flush = useCallback(async (): Promise<boolean> => {
    const { from, check, save, typed: before } = now.current;
    const whole = { ...from, ...before };
    const wrong: Partial<Record<keyof T, Fault>> = check?.(whole) ?? {};
    const fields = (Object.keys(before) as (keyof T)[]).filter((field) => !wrong[field]);
    if (!fields.length) return Object.keys(before).length === 0;
    setSaving(true);
    try {
      await save(Object.fromEntries(fields.map((field) => [field, before[field]])) as Partial<T>, whole);
      setError(undefined);
      const rest = { ...now.current.typed };
      for (const field of fields) if (Object.is(rest[field], before[field])) delete rest[field];
      put(rest);
      return Object.keys(rest).length === 0;
    } catch (caught) {
      setError(caught);
      return false;
    } finally {
      setSaving(false);
    }
  }, [put]);

  useEffect(() => {
    if (!Object.keys(typed).length) return;
    const timer = setTimeout(() => void flush(), QUIET_MS);
    return () => clearTimeout(timer);
  }, [typed, flush]);

  useEffect(() => {
    if (!(error instanceof Unreachable)) return;
    const timer = setTimeout(() => void flush(), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [error, flush]);

  useEffect(() => () => void flush(), [flush]);

  const set = useCallback(
    <K extends keyof T>(field: K, next: T[K]) => put({ ...now.current.typed, [field]: next }),
    [put],
  );
  return { value, faults, isDirty: Object.keys(typed).length > 0, isSaving, error, set, flush };
}
