# SPDX-License-Identifier: Apache-2.0
"""What can be installed, and what it takes."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from muster.model.wire.enums import (
    Architecture,
    FeatureSupportLevelId,
    IncompatibilityReason,
    ReleaseArchitecture,
    ReleaseChannel,
    SupportLevel,
)
from muster.model.wire.struct import Wire


class ClusterHostRequirementsDetails(Wire, frozen=True, kw_only=True):
    """What a host needs to have."""

    cpu_cores: int | None = None
    ram_mib: int | None = None
    disk_size_gb: int | None = None
    installation_disk_speed_threshold_ms: int | None = None
    network_latency_threshold_ms: float | None = None
    packet_loss_percentage: float | None = None
    tpm_enabled_in_bios: bool | None = None


class Feature(Wire, frozen=True, kw_only=True):
    """How well a feature is supported by a release, and what it does not go with."""

    feature_support_level_id: FeatureSupportLevelId = field(name="feature-support-level-id")
    support_level: SupportLevel
    incompatibilities: tuple[FeatureSupportLevelId, ...]
    reason: IncompatibilityReason | None = None


class Operator(Wire, frozen=True, kw_only=True):
    """How well an operator is supported by a release, and what it needs and does not go with."""

    feature_support_level_id: FeatureSupportLevelId = field(name="feature-support-level-id")
    support_level: SupportLevel
    incompatibilities: tuple[FeatureSupportLevelId, ...]
    name: str
    dependencies: tuple[FeatureSupportLevelId, ...]
    reason: IncompatibilityReason | None = None


class FeatureLevels(Wire, frozen=True, kw_only=True):
    """How well each feature is supported by a release."""

    features: dict[str, SupportLevel] | None = None


class DetailedFeatures(Wire, frozen=True, kw_only=True):
    """How well each feature and operator is supported by a release, and why not where it is not."""

    features: tuple[Feature, ...] | None = None
    operators: tuple[Operator, ...] | None = None


class ArchitectureLevels(Wire, frozen=True, kw_only=True):
    """How well each architecture is supported by a release."""

    architectures: dict[str, SupportLevel] | None = None


class HostTypeHardwareRequirements(Wire, frozen=True, kw_only=True):
    """What hosts of one role need to have, in figures and in words."""

    quantitative: ClusterHostRequirementsDetails | None = None
    qualitative: tuple[str, ...] | None = None


class HostTypeHardwareRequirementsWrapper(Wire, frozen=True, kw_only=True):
    """What hosts need to have, by their role."""

    worker: HostTypeHardwareRequirements | None = None
    master: HostTypeHardwareRequirements | None = None


class ListVersions(Wire, frozen=True, kw_only=True):
    """The versions of the service's parts."""

    versions: dict[str, str] | None = None
    release_tag: str | None = None


class ManagedDomain(Wire, frozen=True, kw_only=True):
    """A DNS domain that the service keeps records in."""

    domain: str | None = None
    provider: Literal["route53"] | None = None


class OpenshiftVersion(Wire, frozen=True, kw_only=True):
    """A release that can be installed."""

    display_name: str
    support_level: Literal["beta", "production", "maintenance", "end-of-life"]
    cpu_architectures: tuple[str, ...]
    default: bool | None = None


class OperatorHardwareRequirements(Wire, frozen=True, kw_only=True):
    """What an operator asks of hosts."""

    operator_name: str | None = None
    dependencies: tuple[str, ...] | None = None
    requirements: HostTypeHardwareRequirementsWrapper | None = None


class OperatorHostRequirements(Wire, frozen=True, kw_only=True):
    """What an operator asks of one host."""

    operator_name: str | None = None
    requirements: ClusterHostRequirementsDetails | None = None


class PreflightHardwareRequirements(Wire, frozen=True, kw_only=True):
    """What hosts need to have to join a cluster."""

    operators: tuple[OperatorHardwareRequirements, ...] | None = None
    ocp: HostTypeHardwareRequirementsWrapper | None = None


class UpgradeChannel(Wire, frozen=True, kw_only=True):
    """The channels that releases of an architecture are looked for in."""

    cpu_architecture: ReleaseArchitecture
    channels: tuple[ReleaseChannel, ...]


class ReleaseSource(Wire, frozen=True, kw_only=True):
    """Where releases of a version are looked for."""

    openshift_version: str
    multi_cpu_architectures: tuple[Architecture, ...]
    upgrade_channels: tuple[UpgradeChannel, ...]


class VersionedClusterHostRequirementsDetails(Wire, frozen=True, kw_only=True):
    """What a host needs to have, for one role and version."""

    cpu_cores: int | None = None
    ram_mib: int | None = None
    disk_size_gb: int | None = None
    installation_disk_speed_threshold_ms: int | None = None
    network_latency_threshold_ms: float | None = None
    packet_loss_percentage: float | None = None


class VersionedHostRequirements(Wire, frozen=True, kw_only=True):
    """What hosts need to have, for one version."""

    version: str | None = None
    match_type: Literal["exact", "min_version"] | None = None
    master: VersionedClusterHostRequirementsDetails | None = None
    arbiter: VersionedClusterHostRequirementsDetails | None = None
    worker: VersionedClusterHostRequirementsDetails | None = None
    sno: VersionedClusterHostRequirementsDetails | None = None
    edge_worker: VersionedClusterHostRequirementsDetails | None = field(default=None, name="edge-worker")
