# SPDX-License-Identifier: Apache-2.0
"""What goes into each operation, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias
from uuid import UUID

from msgspec import Meta

from muster.model.wire import cluster, files, host, infra_env, operators, reports, steps, versions
from muster.model.wire.enums import (
    FeatureSupportLevelId,
    HostRole,
    HostStatus,
    ImageType,
    LogsType,
    PlatformType,
    ReleaseArchitecture,
)
from muster.service.api.table import own
from muster.service.api.table.browser import BROWSER_SHAPES
from muster.service.api.table.shape import STREAM, TEXT, Shape, header, may, need
from muster.service.auth.login import Proof
from muster.service.why import Why
from muster.service.wizard import WizardStep

Credential: TypeAlias = Literal["kubeadmin-password", "kubeconfig", "kubeconfig-noingress"]
ClusterFile: TypeAlias = Literal[
    "bootstrap.ign",
    "master.ign",
    "worker.ign",
    "arbiter.ign",
    "metadata.json",
    "install-config.yaml",
    "custom_manifests.json",
    "custom_manifests.yaml",
    "ingress-ca.crt",
]
SignedFile: TypeAlias = Literal[
    "bootstrap.ign",
    "master.ign",
    "worker.ign",
    "arbiter.ign",
    "metadata.json",
    "install-config.yaml",
    "custom_manifests.json",
    "custom_manifests.yaml",
    "logs",
    "manifests",
]
InfraEnvFile: TypeAlias = Literal["discovery.ign", "ipxe-script", "static-network-config"]
ScriptType: TypeAlias = Literal["discovery-image-always", "boot-order-control"]
Folder: TypeAlias = Literal["manifests", "openshift"]
Severity: TypeAlias = Literal["info", "warning", "error", "critical"]
Category: TypeAlias = Literal["user", "metrics"]
Natural: TypeAlias = Annotated[int, Meta(ge=0)]

_AGENT: Final = header("discovery_agent_version", str, "The agent that asks.")
_GONE: Final = header("get_unregistered_clusters", bool, "Clusters that were deleted as well.")
_WAIT: Final = header("Prefer", str, "`wait=N`: the answer may wait for N seconds until there is a step.")
_OWNER: Final = may("owner", str, "Only those that this user created.")
_SCRIPT: Final = may("ipxe_script_type", ScriptType, "Whether the script decides by the host's state.")
_MANIFEST: Final = (may("folder", Folder, "`manifests` if it is not given."), need("file_name"))
_PLATFORM: Final = (
    may("cpu_architecture", ReleaseArchitecture),
    may("platform_type", PlatformType),
    may("external_platform_name"),
)
_FEATURES: Final = may("feature_ids", tuple[FeatureSupportLevelId, ...], "Features of the cluster.")
_RELEASE: Final = need("openshift_version", str, "The release that is meant.")
_LOGS: Final = (
    may("logs_type", LogsType, "`all` if it is not given."),
    may("host_id", UUID, "Only those of this host."),
)

_CLUSTER: Final = Shape(answer=cluster.Cluster)
_HOST: Final = Shape(answer=host.Host)

CLUSTER_SHAPES: Final[Mapping[str, Shape]] = {
    "v2RegisterCluster": Shape(body=cluster.ClusterCreateParams, answer=cluster.Cluster),
    "v2ListClusters": Shape(
        (
            may("openshift_cluster_id", UUID, "Only the cluster that gave itself this id."),
            may(
                "ams_subscription_ids", tuple[str, ...], "Only those of these subscriptions; there are none."
            ),
            may("with_hosts", bool, "With their hosts."),
            _OWNER,
            _GONE,
        ),
        answer=tuple[cluster.Cluster, ...],
    ),
    "v2GetCluster": Shape(
        (may("exclude-hosts", bool, "Without its hosts."), _AGENT, _GONE), answer=cluster.Cluster
    ),
    "v2DeregisterCluster": Shape(),
    "V2UpdateCluster": Shape(body=cluster.V2ClusterUpdateParams, answer=cluster.Cluster),
    "v2UpdateClusterFinalizingProgress": Shape(body=cluster.ClusterFinalizingProgress),
    "ListClusterHosts": Shape(
        (
            may("role", HostRole, "Only hosts of this role."),
            may("status", HostStatus, "Only hosts in this state."),
            may("with-inventory", bool, "With what they are made of."),
            may("with-connectivity", bool, "With what they found about their peers."),
        ),
        answer=tuple[host.Host, ...],
    ),
    "GetClusterSupportedPlatforms": Shape(answer=tuple[PlatformType, ...]),
    "V2GetClusterDefaultConfig": Shape(answer=cluster.ClusterDefaultConfig),
    "v2InstallCluster": _CLUSTER,
    "V2CancelInstallation": _CLUSTER,
    "v2ResetCluster": _CLUSTER,
    "TransformClusterToDay2": _CLUSTER,
    "TransformClusterToAddingHosts": _CLUSTER,
    "v2GetPreflightRequirements": Shape(answer=versions.PreflightHardwareRequirements),
    "v2CompleteInstallation": Shape((_AGENT,), cluster.CompletionParams, cluster.Cluster),
    "v2ImportCluster": Shape(body=cluster.ImportClusterParams, answer=cluster.Cluster),
    "v2RegisterDisconnectedCluster": Shape(
        body=cluster.DisconnectedClusterCreateParams, answer=cluster.Cluster
    ),
    "v2GetIgnoredValidations": Shape(answer=cluster.IgnoredValidations),
    "v2SetIgnoredValidations": Shape(body=cluster.IgnoredValidations, answer=cluster.IgnoredValidations),
}

CLUSTER_FILE_SHAPES: Final[Mapping[str, Shape]] = {
    "V2GetPresignedForClusterCredentials": Shape(
        (need("file_name", Credential),), answer=infra_env.PresignedUrl
    ),
    "V2GetCredentials": Shape(answer=cluster.Credentials),
    "V2DownloadClusterFiles": Shape((need("file_name", ClusterFile), _AGENT), answer=bytes),
    "V2DownloadClusterCredentials": Shape((need("file_name", Credential),), answer=bytes),
    "V2GetPresignedForClusterFiles": Shape(
        (need("file_name", SignedFile), *_LOGS, may("additional_name", str, "Which manifest is meant.")),
        answer=infra_env.PresignedUrl,
    ),
    "v2GetClusterInstallConfig": Shape(answer=str),
    "v2UpdateClusterInstallConfig": Shape(body=str),
    "v2UploadClusterIngressCert": Shape((_AGENT,), str),
    "v2UpdateClusterLogsProgress": Shape(body=host.LogsProgressParams),
    "V2ListClusterManifests": Shape(
        (may("include_system_generated", bool, "With those that the service added."),),
        answer=tuple[files.Manifest, ...],
    ),
    "V2CreateClusterManifest": Shape(body=files.CreateManifestParams, answer=files.Manifest),
    "V2UpdateClusterManifest": Shape(body=files.UpdateManifestParams, answer=files.Manifest),
    "V2DeleteClusterManifest": Shape(_MANIFEST),
    "v2DownloadClusterManifest": Shape(_MANIFEST, answer=bytes),
    "V2DownloadClusterLogs": Shape(_LOGS, answer=bytes),
    "V2UploadLogs": Shape(
        (need("logs_type", LogsType), may("infra_env_id", UUID), may("host_id", UUID)),
        body=bytes,
        body_required=False,
    ),
    "V2ListOfClusterOperators": Shape(
        (may("operator_name", str, "Only this one."),), answer=tuple[operators.MonitoredOperator, ...]
    ),
    "v2ReportMonitoredOperatorStatus": Shape(body=operators.OperatorMonitorReport),
    "V2GetClusterUISettings": Shape(answer=str),
    "V2UpdateClusterUISettings": Shape(body=str, answer=str),
}

INFRA_ENV_SHAPES: Final[Mapping[str, Shape]] = {
    "RegisterInfraEnv": Shape(body=infra_env.InfraEnvCreateParams, answer=infra_env.InfraEnv),
    "ListInfraEnvs": Shape(
        (may("cluster_id", UUID, "Only those of this cluster."), _OWNER),
        answer=tuple[infra_env.InfraEnv, ...],
    ),
    "GetInfraEnv": Shape(answer=infra_env.InfraEnv),
    "UpdateInfraEnv": Shape(body=infra_env.InfraEnvUpdateParams, answer=infra_env.InfraEnv),
    "DeregisterInfraEnv": Shape(),
    "GetInfraEnvDownloadURL": Shape(answer=infra_env.PresignedUrl),
    "v2DownloadInfraEnvFiles": Shape(
        (
            need("file_name", InfraEnvFile),
            may("mac", str, "The host that asks, by the MAC that it boots from."),
            _SCRIPT,
            may("discovery_iso_type", ImageType, "The image that the file is meant for."),
        ),
        answer=bytes,
    ),
    "GetInfraEnvPresignedFileURL": Shape(
        (need("file_name", InfraEnvFile), _SCRIPT), answer=infra_env.PresignedUrl
    ),
    "RegenerateInfraEnvSigningKey": Shape(),
    "DownloadMinimalInitrd": Shape(answer=bytes, statuses={204: "There is nothing to add."}),
}

HOST_SHAPES: Final[Mapping[str, Shape]] = {
    "v2RegisterHost": Shape((_AGENT,), host.HostCreateParams, host.HostRegistrationResponse),
    "v2ListHosts": Shape(answer=tuple[host.Host, ...]),
    "v2GetHost": _HOST,
    "v2UpdateHost": Shape(body=host.HostUpdateParams, answer=host.Host),
    "v2DeregisterHost": Shape(),
    "v2GetNextSteps": Shape(
        (may("timestamp", int, "The host's clock, in seconds since 1970."), _AGENT, _WAIT),
        answer=steps.Steps,
    ),
    "v2PostStepReply": Shape((_AGENT,), reports.StepReply),
    "v2UpdateHostInstallProgress": Shape((_AGENT,), host.HostProgress),
    "BindHost": Shape(body=host.BindHostParams, answer=host.Host),
    "UnbindHost": _HOST,
    "v2ResetHostValidation": _HOST,
    "v2ResetHost": _HOST,
    "v2InstallHost": _HOST,
    "v2UpdateHostInstallerArgs": Shape(body=host.InstallerArgsParams, answer=host.Host),
    "v2GetHostIgnition": Shape(answer=host.HostIgnitionParams),
    "v2UpdateHostIgnition": Shape(body=host.HostIgnitionParams),
    "v2UpdateHostLogsProgress": Shape(body=host.LogsProgressParams),
    "v2DownloadHostIgnition": Shape(answer=bytes),
}

_COUNTS: Final = {
    f"Severity-Count-{name}": f"How many of the events are of the severity {name.lower()}."
    for name in ("Info", "Warning", "Error", "Critical")
}

CATALOGUE_SHAPES: Final[Mapping[str, Shape]] = {
    "V2ListManagedDomains": Shape(answer=tuple[versions.ManagedDomain, ...]),
    "V2ListOperatorProperties": Shape(answer=tuple[operators.OperatorProperty, ...]),
    "V2ListSupportedOperators": Shape(answer=tuple[str, ...]),
    "V2ListBundles": Shape(
        (may("openshift_version"), *_PLATFORM, _FEATURES), answer=tuple[operators.Bundle, ...]
    ),
    "V2GetBundle": Shape((_FEATURES,), answer=operators.Bundle),
    "v2ListComponentVersions": Shape(answer=versions.ListVersions),
    "v2ListSupportedOpenshiftVersions": Shape(
        (
            may("version", str, "Only versions that begin so."),
            may("only_latest", bool, "Only the newest of each minor version."),
        ),
        answer=dict[str, versions.OpenshiftVersion],
    ),
    "v2ListReleaseSources": Shape(answer=tuple[versions.ReleaseSource, ...]),
    "v2ListEvents": Shape(
        (
            may("cluster_id", UUID),
            may("host_id", UUID, "Older way to name one of host_ids."),
            may("host_ids", tuple[UUID, ...]),
            may("infra_env_id", UUID),
            may("limit", Annotated[int, Meta(ge=-1)], "At most so many; -1: all."),
            may("offset", Natural, "Without the first so many."),
            may("order", Literal["ascending", "descending"], "By time; `ascending` if it is not given."),
            may("severities", tuple[Severity, ...]),
            may("message", str, "Only those whose message contains this."),
            may("deleted_hosts", bool, "Those of hosts that are gone as well."),
            may("cluster_level", bool, "Those of no host as well."),
            may("categories", tuple[Category, ...], "`user` if it is not given."),
        ),
        answer=tuple[files.Event, ...],
        headers={"Event-Count": "How many events there are in all.", **_COUNTS},
    ),
    "v2TriggerEvent": Shape(body=files.Event),
    "GetSupportedFeatures": Shape((_RELEASE, *_PLATFORM), answer=versions.FeatureLevels),
    "GetDetailedSupportedFeatures": Shape((_RELEASE, *_PLATFORM), answer=versions.DetailedFeatures),
    "GetSupportedArchitectures": Shape((_RELEASE,), answer=versions.ArchitectureLevels),
}

_NOT_NOW: Final = {503: "It cannot, now."}

OUR_SHAPES: Final[Mapping[str, Shape]] = {
    "v2Stream": Shape(answer=str, media_type=STREAM),
    "v2GetClusterSteps": Shape(answer=tuple[WizardStep, ...]),
    "v2GetClusterWhy": Shape(answer=Why),
    "v2ApproveHostEnrolment": Shape(body=host.EnrolmentApproval, answer=host.Host),
    "v2GetLogin": Shape(answer=own.LoginAnswer),
    "v2Login": Shape(body=Proof, answer=own.LoginAnswer),
    "v2Logout": Shape(),
    "health": Shape(answer=own.Health),
    "ready": Shape(answer=own.Readiness, statuses=_NOT_NOW),
    "metrics": Shape(answer=str, media_type=TEXT),
    "openapi": Shape(answer=dict[str, Any]),
    **BROWSER_SHAPES,
}

SHAPES: Final[Mapping[str, Shape]] = {
    **CLUSTER_SHAPES,
    **CLUSTER_FILE_SHAPES,
    **INFRA_ENV_SHAPES,
    **HOST_SHAPES,
    **CATALOGUE_SHAPES,
    **OUR_SHAPES,
}
