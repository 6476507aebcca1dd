// SPDX-License-Identifier: Apache-2.0
/** What the page asks of the service, by name. */
import { ask, askFile } from "./client";
import type {
  AddOns,
  CheckTexts,
  Cluster,
  ClusterCreate,
  ClusterDefaults,
  ClusterUpdate,
  Credentials,
  Farewell,
  Finding,
  Host,
  HostUpdate,
  InfraEnv,
  LoggedEvent,
  HostLog,
  Manifest,
  NetworksReport,
  Service,
  Timeline,
  Versions,
  Why,
  WizardStep,
} from "./types";

const of = (id: string): string => `/clusters/${id}`;
const hostOf = (host: Host): string => `/infra-envs/${host.infra_env_id}/hosts/${host.id}`;

export const listClusters = (): Promise<Cluster[]> => ask("/clusters");
export const getCluster = (id: string): Promise<Cluster> => ask(of(id));
export const getBareCluster = (id: string): Promise<Cluster> => ask(`${of(id)}?exclude-hosts=true`);
export const getSteps = (id: string): Promise<WizardStep[]> => ask(`${of(id)}/steps`);
export const getWhy = (id: string): Promise<Why> => ask(`${of(id)}/why`);
export const createCluster = (body: ClusterCreate): Promise<Cluster> => ask("/clusters", { method: "POST", body });
export const updateCluster = (id: string, body: ClusterUpdate): Promise<Cluster> =>
  ask(of(id), { method: "PATCH", body });
export const deleteCluster = (id: string): Promise<void> => ask(of(id), { method: "DELETE" });
export const act = (id: string, action: "install" | "cancel" | "reset"): Promise<Cluster> =>
  ask(`${of(id)}/actions/${action}`, { method: "POST" });

export const listInfraEnvs = (clusterId?: string): Promise<InfraEnv[]> =>
  ask(clusterId ? `/infra-envs?cluster_id=${clusterId}` : "/infra-envs");
export const createInfraEnv = (body: object): Promise<InfraEnv> => ask("/infra-envs", { method: "POST", body });
export const updateInfraEnv = (id: string, body: object): Promise<InfraEnv> =>
  ask(`/infra-envs/${id}`, { method: "PATCH", body });
export const deleteInfraEnv = (id: string): Promise<void> => ask(`/infra-envs/${id}`, { method: "DELETE" });

export const getHost = (host: Host): Promise<Host> => ask(hostOf(host));
export const listHosts = (clusterId: string): Promise<Host[]> =>
  ask(`${of(clusterId)}/hosts?with-inventory=true&with-connectivity=true`);
export const updateHost = (host: Host, body: HostUpdate): Promise<Host> =>
  ask(hostOf(host), { method: "PATCH", body });
export const deleteHost = (host: Host): Promise<void> => ask(hostOf(host), { method: "DELETE" });
export const approveEnrolment = (host: Host, key: string): Promise<Host> =>
  ask(`${hostOf(host)}/actions/approve-enrolment`, { method: "POST", body: { key } });
export const resetHost = (host: Host): Promise<Host> => ask(`${hostOf(host)}/actions/reset`, { method: "POST" });

export const listVersions = (): Promise<Versions> => ask("/openshift-versions");
export const getDefaults = (): Promise<ClusterDefaults> => ask("/clusters/default-config");
export const getService = (): Promise<Service> => ask("/service");
export const getCheckTexts = (): Promise<CheckTexts> => ask("/validations");
export const getAddOns = (id: string): Promise<AddOns> => ask(`${of(id)}/add-ons`);
export const getTimeline = (id: string): Promise<Timeline> => ask(`${of(id)}/timeline`);
export const getFarewell = (id: string): Promise<Farewell> => ask(`${of(id)}/farewell`);
export const getEverything = (id: string): Promise<Blob> => askFile(`${of(id)}/downloads/everything`);
/** The last lines of a log; with `after`, those that come after it, as soon as there are any. */
export const getHostLog = (id: string, hostId: string, query: object, asked: { wait?: number; signal?: AbortSignal } = {}): Promise<HostLog> =>
  ask(`${of(id)}/hosts/${hostId}/log?${new URLSearchParams(query as Record<string, string>)}`, asked);
export const startOver = (): Promise<void> => ask("/start-over", { method: "POST" });
export const checkManifest = (file_name: string, content: string): Promise<{ problems?: Finding[] }> =>
  ask("/manifests/validate", { method: "POST", body: { file_name, content } });
export const checkNetworks = (body: object): Promise<NetworksReport> =>
  ask("/nmstate/validate", { method: "POST", body });

export const listManifests = (id: string): Promise<Manifest[]> => ask(`${of(id)}/manifests`);
export const getManifest = async (id: string, one: Manifest): Promise<string> => {
  const query = new URLSearchParams({ folder: one.folder ?? "manifests", file_name: one.file_name ?? "" });
  return (await askFile(`${of(id)}/manifests/files?${query}`)).text();
};
export const createManifest = (id: string, body: object): Promise<Manifest> =>
  ask(`${of(id)}/manifests`, { method: "POST", body });
export const updateManifest = (id: string, body: object): Promise<Manifest> =>
  ask(`${of(id)}/manifests`, { method: "PATCH", body });
export const deleteManifest = (id: string, one: Manifest): Promise<void> => {
  const query = new URLSearchParams({ folder: one.folder ?? "manifests", file_name: one.file_name ?? "" });
  return ask(`${of(id)}/manifests?${query}`, { method: "DELETE" });
};

export const getCredentialFile = (id: string, name: string): Promise<Blob> =>
  askFile(`${of(id)}/downloads/credentials?file_name=${name}`);
export const getCredentials = (id: string): Promise<Credentials> => ask(`${of(id)}/credentials`);
export const listEvents = (query: URLSearchParams): Promise<LoggedEvent[]> => ask(`/events?${query}`);
export const getLogs = (id: string, hostId?: string): Promise<Blob> =>
  askFile(`${of(id)}/logs?${hostId ? `logs_type=host&host_id=${hostId}` : "logs_type=all"}`);
