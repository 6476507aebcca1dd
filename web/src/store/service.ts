// SPDX-License-Identifier: Apache-2.0
/** What the service is there for. It may be another kind after its host restarted, so it is asked again then. */
import { getService } from "../api/calls";
import type { Service } from "../api/types";
import { makeStore, useStore } from "./store";

export type KnownService = Partial<Service> & Pick<Service, "mode">;

export const service = makeStore<KnownService>({ mode: "many" });

export async function loadService(): Promise<void> {
  const found = await getService();
  service.set((old) => (old.started_at === found.started_at && old.mode === found.mode ? old : found));
}

export function useService(): KnownService {
  return useStore(service, (value) => value);
}
