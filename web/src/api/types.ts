// SPDX-License-Identifier: Apache-2.0
/** Short names for the objects of the service. `schema.ts` is generated from its OpenAPI document. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Cluster = Schemas["Cluster"];
export type ClusterCreate = Schemas["ClusterCreateParams"];
export type ClusterUpdate = Schemas["V2ClusterUpdateParams"];
export type Host = Schemas["Host"];
export type HostUpdate = Schemas["HostUpdateParams"];
export type InfraEnv = Schemas["InfraEnv"];
export type Inventory = Schemas["Inventory"];
export type Disk = Schemas["Disk"];
export type Interface = Schemas["Interface"];
export type Manifest = Schemas["Manifest"];
export type LoginAnswer = Schemas["LoginAnswer"];
export type OpenshiftVersion = Schemas["OpenshiftVersion"];
export type ClusterDefaults = Schemas["ClusterDefaultConfig"];
export type Credentials = Schemas["Credentials"];
export type Operator = Schemas["Operator"];
export type Bundle = Schemas["Bundle"];
export type LoggedEvent = Schemas["Event"];
export type Why = Schemas["Why"];
export type Reason = Schemas["Reason"];

export type StepId =
  | "cluster-details"
  | "operators"
  | "host-discovery"
  | "storage"
  | "networking"
  | "custom-manifests"
  | "credentials"
  | "review";

/** Something that stands in the way of a step: of the cluster, or of the hosts that are named. */
export interface Block {
  id: string;
  of?: "cluster" | "host";
  title?: string;
  message: string;
  status: "failure" | "pending" | "error";
  why?: string;
  fix?: string;
  hosts?: { id: string; name: string; status?: string; message?: string }[];
}

export interface WizardStep {
  id: StepId;
  ready: boolean;
  blocked_by?: Block[];
  warnings?: Block[];
  /** Earlier steps that are not ready. */
  after?: StepId[];
}

export type ConnectivityReport = Schemas["ConnectivityReport"];

/** One check of a host or a cluster, as `validations_info` has it. */
export interface Verdict {
  id: string;
  status: "success" | "failure" | "pending" | "error" | "disabled";
  message: string;
}

/** What the service is there for. */
export interface Service {
  /** interactive: one cluster, made in the browser; site: one from files; many; status: after the reboot, to look only. */
  mode: "interactive" | "site" | "many" | "status";
  version?: string;
  url?: string;
  /** SHA-256 of its certificate. */
  fingerprint?: string;
  started_at?: string;
  cluster_id?: string;
  infra_env_id?: string;
  rendezvous_ip?: string;
  pull_secret_there?: boolean;
}

/** What a check is called, why it matters, and what to do. */
export interface CheckText {
  title: string;
  why: string;
  fix: string;
  step: StepId;
  advisory?: boolean;
}

export interface CheckTexts {
  host: Record<string, CheckText>;
  cluster: Record<string, CheckText>;
}

/** A stage of a host or of the end, with how long it usually takes. */
export interface StageTime {
  stage: string;
  started_at?: string;
  ended_at?: string;
  usual_s?: number;
  limit_s?: number;
  is_slow?: boolean;
}

export interface Timeline {
  hosts: { id: string; name: string; role?: string; stages: StageTime[] }[];
  finalizing?: StageTime[];
  usual_left_s?: number;
}

export interface Farewell {
  api_url: string;
  console_url?: string;
  hosts_lines: string[];
  rendezvous?: { host_id: string; name: string; ip: string; stage?: string };
  credentials_taken: boolean;
}

export interface Needs {
  cpu_millicores?: number;
  memory_mib?: number;
  disk_mib?: number;
}

export interface AddOn {
  id: string;
  name: string;
  version?: string;
  bundle?: string;
  description?: string;
  size_bytes?: number;
  host?: Needs;
  cluster?: Needs;
  dependencies?: string[];
  conflicts?: string[];
  chosen?: boolean;
  choosable?: boolean;
  reason?: string;
  fix?: string;
}

export interface AddOns {
  add_ons: AddOn[];
  bundles: { id: string; add_ons: string[] }[];
}

export interface Finding {
  message: string;
  fix?: string;
  severity: "error" | "warning";
  line?: number;
  column?: number;
}
