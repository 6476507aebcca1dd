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
export type DiskExtras = Schemas["DiskExtras"];
export type Neighbour = Schemas["Neighbour"];
export type Manifest = Schemas["Manifest"];
export type LoginAnswer = Schemas["LoginAnswer"];
/** What can be installed, by version. */
export type Versions = Record<string, Schemas["OpenshiftVersion"]>;
export type ClusterDefaults = Schemas["ClusterDefaultConfig"];
export type Credentials = Schemas["Credentials"];
export type LoggedEvent = Schemas["Event"];
export type Why = Schemas["Why"];
export type Reason = Schemas["Reason"];
export type Block = Schemas["Block"];
export type WizardStep = Schemas["WizardStep"];
export type StepId = WizardStep["id"];
export type Service = Schemas["ServiceAnswer"];
export type CheckText = Schemas["ValidationText"];
export type CheckTexts = Schemas["ValidationCatalogue"];
export type StageSpan = Schemas["StageSpan"];
export type HostTimeline = Schemas["HostTimeline"];
export type Timeline = Schemas["Timeline"];
export type Farewell = Schemas["Farewell"];
export type Needs = Schemas["AddOnNeeds"];
export type AddOn = Schemas["AddOnChoice"];
export type AddOns = Schemas["AddOnCatalogue"];
export type Finding = Schemas["Finding"];
export type NetworksReport = Schemas["NetworksReport"];
export type HostLog = Schemas["HostLog"];
export type HostNetworkConfig = Schemas["HostStaticNetworkConfig"];
export type ConnectivityReport = Schemas["ConnectivityReport"];

/** One check of a host or a cluster, as `validations_info` has it. */
export interface Verdict {
  id: string;
  status: "success" | "failure" | "pending" | "error" | "disabled";
  message: string;
}
