// SPDX-License-Identifier: Apache-2.0
/** A value that components follow. */
import { useSyncExternalStore } from "react";

export interface Store<T> {
  get(): T;
  set(change: (old: T) => T): void;
  follow(listener: () => void): () => void;
}

export function makeStore<T>(first: T): Store<T> {
  let value = first;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(change) {
      const next = change(value);
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** A part of a store; the component is drawn again only when that part is another object. */
export function useStore<T, P>(store: Store<T>, pick: (value: T) => P): P {
  return useSyncExternalStore(store.follow, () => pick(store.get()));
}
