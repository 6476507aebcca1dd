# SPDX-License-Identifier: Apache-2.0
"""What can be installed, and what it takes."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from muster.model.wire.enums import FeatureSupportLevelId, IncompatibilityReason, ReleaseChannel, SupportLevel
from muster.model.wire.struct import Wire


class ClusterHostRequirementsDetails(Wire):
    """TODO"""

    cpu_cores: int | None = None
    ram_mib: int | None = None
    disk_size_gb: int | None = None
    installation_disk_speed_threshold_ms: int | None = None
    network_latency_threshold_ms: float | None = None
    packet_loss_percentage: float | None = None
    tpm_enabled_in_bios: bool | None = None


class Feature(Wire):
    """TODO"""

    feature_support_level_id: FeatureSupportLevelId = field(name="feature-support-level-id")
    support_level: SupportLevel
    incompatibilities: tuple[FeatureSupportLevelId, ...]
    reason: IncompatibilityReason | None = None


class HostTypeHardwareRequirements(Wire):
    """TODO"""

    quantitative: ClusterHostRequirementsDetails | None = None
    qualitative: tuple[str, ...] | None = None


class HostTypeHardwareRequirementsWrapper(Wire):
    """TODO"""

    worker: HostTypeHardwareRequirements | None = None
    master: HostTypeHardwareRequirements | None = None


class ListVersions(Wire):
    """TODO"""

    versions: dict[str, str] | None = None
    release_tag: str | None = None


class ManagedDomain(Wire):
    """TODO"""

    domain: str | None = None
    provider: Literal["route53"] | None = None


class OpenshiftVersion(Wire):
    """TODO"""

    display_name: str
    support_level: Literal["beta", "production", "maintenance", "end-of-life"]
    cpu_architectures: tuple[str, ...]
    default: bool | None = None


class OperatorHardwareRequirements(Wire):
    """TODO"""

    operator_name: str | None = None
    dependencies: tuple[str, ...] | None = None
    requirements: HostTypeHardwareRequirementsWrapper | None = None


class OperatorHostRequirements(Wire):
    """TODO"""

    operator_name: str | None = None
    requirements: ClusterHostRequirementsDetails | None = None


class PreflightHardwareRequirements(Wire):
    """TODO"""

    operators: tuple[OperatorHardwareRequirements, ...] | None = None
    ocp: HostTypeHardwareRequirementsWrapper | None = None


class UpgradeChannel(Wire):
    """TODO"""

    cpu_architecture: Literal["x86_64", "aarch64", "arm64", "ppc64le", "s390x", "multi"]
    channels: tuple[ReleaseChannel, ...]


class ReleaseSource(Wire):
    """TODO"""

    openshift_version: str
    multi_cpu_architectures: tuple[Literal["x86_64", "aarch64", "arm64", "ppc64le", "s390x"], ...]
    upgrade_channels: tuple[UpgradeChannel, ...]


class VersionedClusterHostRequirementsDetails(Wire):
    """TODO"""

    cpu_cores: int | None = None
    ram_mib: int | None = None
    disk_size_gb: int | None = None
    installation_disk_speed_threshold_ms: int | None = None
    network_latency_threshold_ms: float | None = None
    packet_loss_percentage: float | None = None


class VersionedHostRequirements(Wire):
    """TODO"""

    version: str | None = None
    match_type: Literal["exact", "min_version"] | None = None
    master: VersionedClusterHostRequirementsDetails | None = None
    arbiter: VersionedClusterHostRequirementsDetails | None = None
    worker: VersionedClusterHostRequirementsDetails | None = None
    sno: VersionedClusterHostRequirementsDetails | None = None
    edge_worker: VersionedClusterHostRequirementsDetails | None = field(default=None, name="edge-worker")
