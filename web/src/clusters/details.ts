// SPDX-License-Identifier: Apache-2.0
/** The details of a cluster as a form has them, and as the service has them. */
import type { Cluster, ClusterCreate, ClusterUpdate } from "../api/types";
import { checkDomain, checkName, checkNoProxy, checkNtp, checkProxy, checkPullSecret, mendPullSecret, type Fault } from "../forms/checks";

export interface Details {
  name: string;
  base_dns_domain: string;
  openshift_version: string;
  cpu_architecture: string;
  control_plane_count: number;
  needsSecret: boolean;
  pull_secret: string;
  http_proxy: string;
  https_proxy: string;
  no_proxy: string;
  additional_ntp_source: string;
}

export type DetailFaults = Partial<Record<keyof Details, Fault>>;

/** A pull secret that opens nothing, for releases that bring their images along. */
export const NO_SECRET = '{"auths":{}}';

export const EMPTY: Details = {
  name: "",
  base_dns_domain: "",
  openshift_version: "",
  cpu_architecture: "x86_64",
  control_plane_count: 3,
  needsSecret: false,
  pull_secret: "",
  http_proxy: "",
  https_proxy: "",
  no_proxy: "",
  additional_ntp_source: "",
};

export function detailsOf(cluster: Cluster): Details {
  return {
    ...EMPTY,
    name: cluster.name ?? "",
    base_dns_domain: cluster.base_dns_domain ?? "",
    openshift_version: cluster.openshift_version ?? "",
    cpu_architecture: cluster.cpu_architecture ?? "x86_64",
    control_plane_count: cluster.control_plane_count ?? 3,
    http_proxy: cluster.http_proxy ?? "",
    https_proxy: cluster.https_proxy ?? "",
    no_proxy: cluster.no_proxy ?? "",
    additional_ntp_source: cluster.additional_ntp_source ?? "",
  };
}

export function checkDetails(value: Details): DetailFaults {
  return {
    name: checkName(value.name),
    base_dns_domain: checkDomain(value.base_dns_domain),
    pull_secret: value.needsSecret ? checkPullSecret(value.pull_secret) : "",
    http_proxy: checkProxy(value.http_proxy),
    https_proxy: checkProxy(value.https_proxy),
    no_proxy: checkNoProxy(value.no_proxy),
    additional_ntp_source: checkNtp(value.additional_ntp_source),
  };
}

/** A cluster to be made; `isBrought`: the medium has a pull secret with it, which an empty one stands for. */
export function createParams(value: Details, isBrought = false): ClusterCreate {
  const given: Record<string, unknown> = {
    name: value.name,
    base_dns_domain: value.base_dns_domain,
    openshift_version: value.openshift_version,
    cpu_architecture: value.cpu_architecture,
    control_plane_count: value.control_plane_count,
    pull_secret: value.needsSecret ? mendPullSecret(value.pull_secret) : isBrought ? "" : NO_SECRET,
  };
  for (const field of ["http_proxy", "https_proxy", "no_proxy", "additional_ntp_source"] as const) {
    if (value[field]) given[field] = value[field];
  }
  return given as ClusterCreate;
}

/** What changed, as the service takes it; a secret only once it is a whole one. */
export function updateParams(changed: Partial<Details>, whole: Details): ClusterUpdate {
  const { needsSecret, pull_secret, openshift_version: _v, cpu_architecture: _a, ...plain } = changed;
  const secret = needsSecret === false ? NO_SECRET : pull_secret && !checkPullSecret(whole.pull_secret) ? pull_secret : "";
  return secret ? { ...plain, pull_secret: mendPullSecret(secret) } : plain;
}
