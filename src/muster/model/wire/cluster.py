# SPDX-License-Identifier: Apache-2.0
"""A cluster, and what may be asked of it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from muster.model.wire.enums import FinalizingStage, ImageType, LogsState, PlatformType, VipVerification
from muster.model.wire.host import Host
from muster.model.wire.operators import BundleCreateParams, MonitoredOperator, OperatorCreateParams
from muster.model.wire.struct import Wire


class ApiVip(Wire):
    """TODO"""

    cluster_id: str | None = None
    ip: str | None = None
    verification: VipVerification | None = None


class ClusterNetwork(Wire):
    """TODO"""

    cluster_id: str | None = None
    cidr: str | None = None
    host_prefix: Annotated[int, Meta(le=128, ge=1)] | None = None


class ClusterProgressInfo(Wire):
    """TODO"""

    total_percentage: int | None = None
    preparing_for_installation_stage_percentage: int | None = None
    installing_stage_percentage: int | None = None
    finalizing_stage_percentage: int | None = None
    finalizing_stage: FinalizingStage | None = None
    finalizing_stage_started_at: datetime | None = None
    finalizing_stage_timed_out: bool | None = None


class DiskEncryption(Wire):
    """TODO"""

    enable_on: (
        Literal[
            "none",
            "masters",
            "arbiters",
            "workers",
            "masters,arbiters",
            "masters,workers",
            "arbiters,workers",
            "masters,arbiters,workers",
            "all",
        ]
        | None
    ) = None
    mode: Literal["tpmv2", "tang"] | None = None
    tang_servers: str | None = None


class HostNetwork(Wire):
    """TODO"""

    cidr: str | None = None
    host_ids: tuple[str, ...] | None = None


class IgnitionEndpoint(Wire):
    """TODO"""

    url: str | None = None
    ca_certificate: str | None = None


class ImageInfo(Wire):
    """TODO"""

    ssh_public_key: str | None = None
    size_bytes: Annotated[int, Meta(ge=0)] | None = None
    download_url: str | None = None
    generator_version: str | None = None
    created_at: datetime | None = None
    expires_at: datetime | None = None
    static_network_config: str | None = None
    type: ImageType | None = None


class IngressVip(Wire):
    """TODO"""

    cluster_id: str | None = None
    ip: str | None = None
    verification: VipVerification | None = None


class LastInstallationPreparation(Wire):
    """TODO"""

    status: Literal["not_started", "failed", "success"] | None = None
    reason: str | None = None


class LoadBalancer(Wire):
    """TODO"""

    type: Literal["cluster-managed", "user-managed"] | None = None


class MachineNetwork(Wire):
    """TODO"""

    cluster_id: str | None = None
    cidr: str | None = None


class PlatformExternal(Wire):
    """TODO"""

    platform_name: Annotated[str, Meta(min_length=1)] | None = None
    cloud_controller_manager: Literal["", "External"] | None = None


class Platform(Wire):
    """TODO"""

    type: PlatformType
    external: PlatformExternal | None = None


class ServiceNetwork(Wire):
    """TODO"""

    cluster_id: str | None = None
    cidr: str | None = None


class Cluster(Wire):
    """TODO"""

    kind: Literal["Cluster", "AddHostsCluster", "DisconnectedCluster"]
    id: str
    href: str
    image_info: ImageInfo
    status: Literal[
        "insufficient",
        "ready",
        "error",
        "preparing-for-installation",
        "pending-for-input",
        "installing",
        "finalizing",
        "installed",
        "adding-hosts",
        "cancelled",
        "installing-pending-user-action",
        "unmonitored",
    ]
    status_info: str
    high_availability_mode: Literal["Full", "None"] | None = None
    name: str | None = None
    user_name: str | None = None
    org_id: str | None = None
    email_domain: str | None = None
    openshift_version: str | None = None
    ocp_release_image: str | None = None
    openshift_cluster_id: str | None = None
    os_stream: str | None = None
    platform: Platform | None = None
    base_dns_domain: str | None = None
    cluster_network_cidr: str | None = None
    cluster_network_host_prefix: Annotated[int, Meta(le=128, ge=1)] | None = None
    service_network_cidr: str | None = None
    api_vips: tuple[ApiVip, ...] | None = None
    api_vip_dns_name: str | None = None
    machine_network_cidr: str | None = None
    ingress_vips: tuple[IngressVip, ...] | None = None
    ssh_public_key: str | None = None
    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: str | None = None
    status_updated_at: datetime | None = None
    progress: ClusterProgressInfo | None = None
    disk_encryption: DiskEncryption | None = None
    hosts: tuple[Host, ...] | None = None
    ready_host_count: int | None = None
    enabled_host_count: int | None = None
    total_host_count: int | None = None
    schedulable_masters: bool | None = None
    schedulable_masters_forced_true: bool | None = None
    updated_at: datetime | None = None
    created_at: datetime | None = None
    install_started_at: datetime | None = None
    install_completed_at: datetime | None = None
    host_networks: tuple[HostNetwork, ...] | None = None
    pull_secret_set: bool | None = None
    vip_dhcp_allocation: bool | None = None
    validations_info: str | None = None
    logs_info: LogsState | None = None
    install_config_overrides: str | None = None
    controller_logs_collected_at: datetime | None = None
    controller_logs_started_at: datetime | None = None
    connectivity_majority_groups: str | None = None
    ip_collisions: str | None = None
    ignored_host_validations: str | None = None
    ignored_cluster_validations: str | None = None
    deleted_at: Any | None = None
    user_managed_networking: bool | None = None
    additional_ntp_source: str | None = None
    ntp_sources: str | None = None
    monitored_operators: tuple[MonitoredOperator, ...] | None = None
    operator_bundles: tuple[BundleCreateParams, ...] | None = None
    ams_subscription_id: str | None = None
    hyperthreading: (
        Literal[
            "none",
            "masters",
            "arbiters",
            "workers",
            "masters,arbiters",
            "masters,workers",
            "arbiters,workers",
            "masters,arbiters,workers",
            "all",
        ]
        | None
    ) = None
    feature_usage: str | None = None
    network_type: Literal["OpenShiftSDN", "OVNKubernetes", "CiscoACI", "Cilium", "Calico", "None"] | None = (
        None
    )
    cluster_networks: tuple[ClusterNetwork, ...] | None = None
    service_networks: tuple[ServiceNetwork, ...] | None = None
    machine_networks: tuple[MachineNetwork, ...] | None = None
    cpu_architecture: Literal["x86_64", "aarch64", "arm64", "ppc64le", "s390x", "multi"] | None = None
    ignition_endpoint: IgnitionEndpoint | None = None
    imported: bool | None = None
    tags: str | None = None
    last_installation_preparation: LastInstallationPreparation | None = field(
        default=None, name="last-installation-preparation"
    )
    org_soft_timeouts_enabled: bool | None = None
    control_plane_count: int | None = None
    load_balancer: LoadBalancer | None = None


class ClusterCreateParams(Wire):
    """TODO"""

    name: Annotated[str, Meta(max_length=54, min_length=1)]
    openshift_version: str
    pull_secret: str
    high_availability_mode: Literal["Full", "None"] | None = None
    ocp_release_image: str | None = None
    os_stream: str | None = None
    base_dns_domain: str | None = None
    cluster_network_cidr: str | None = None
    cluster_network_host_prefix: Annotated[int, Meta(le=128, ge=1)] | None = None
    service_network_cidr: str | None = None
    api_vips: tuple[ApiVip, ...] | None = None
    ingress_vips: tuple[IngressVip, ...] | None = None
    ssh_public_key: str | None = None
    vip_dhcp_allocation: bool | None = None
    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: str | None = None
    user_managed_networking: bool | None = None
    additional_ntp_source: str | None = None
    ntp_sources: str | None = None
    olm_operators: tuple[OperatorCreateParams, ...] | None = None
    operator_bundles: tuple[BundleCreateParams, ...] | None = None
    hyperthreading: (
        Literal[
            "none",
            "masters",
            "arbiters",
            "workers",
            "masters,arbiters",
            "masters,workers",
            "arbiters,workers",
            "masters,arbiters,workers",
            "all",
        ]
        | None
    ) = None
    network_type: Literal["OpenShiftSDN", "OVNKubernetes", "CiscoACI", "Cilium", "Calico", "None"] | None = (
        None
    )
    schedulable_masters: bool | None = None
    cluster_networks: tuple[ClusterNetwork, ...] | None = None
    service_networks: tuple[ServiceNetwork, ...] | None = None
    machine_networks: tuple[MachineNetwork, ...] | None = None
    platform: Platform | None = None
    cpu_architecture: Literal["x86_64", "aarch64", "arm64", "ppc64le", "s390x", "multi"] | None = None
    disk_encryption: DiskEncryption | None = None
    ignition_endpoint: IgnitionEndpoint | None = None
    tags: str | None = None
    control_plane_count: int | None = None
    load_balancer: LoadBalancer | None = None


class ClusterDefaultConfig(Wire):
    """TODO"""

    cluster_network_cidr: str | None = None
    cluster_network_host_prefix: Annotated[int, Meta(le=32, ge=1)] | None = None
    inactive_deletion_hours: int | None = None
    service_network_cidr: str | None = None
    ntp_source: str | None = None
    cluster_networks_ipv4: tuple[ClusterNetwork, ...] | None = None
    cluster_networks_dualstack: tuple[ClusterNetwork, ...] | None = None
    service_networks_ipv4: tuple[ServiceNetwork, ...] | None = None
    service_networks_dualstack: tuple[ServiceNetwork, ...] | None = None
    forbidden_hostnames: tuple[str, ...] | None = None


class ClusterFinalizingProgress(Wire):
    """TODO"""

    finalizing_stage: FinalizingStage | None = None


class CompletionParams(Wire):
    """TODO"""

    is_success: bool
    error_info: str | None = None
    data: dict[str, Any] | None = None


class Credentials(Wire):
    """TODO"""

    username: str | None = None
    password: str | None = None
    console_url: str | None = None


class DisconnectedClusterCreateParams(Wire):
    """TODO"""

    name: Annotated[str, Meta(max_length=54, min_length=1)]
    openshift_version: str


class IgnoredValidations(Wire):
    """TODO"""

    cluster_validation_ids: str | None = field(default=None, name="cluster-validation-ids")
    host_validation_ids: str | None = field(default=None, name="host-validation-ids")


class ImportClusterParams(Wire):
    """TODO"""

    name: str
    api_vip_dnsname: str
    openshift_cluster_id: str
    openshift_version: str | None = None


class V2ClusterUpdateParams(Wire):
    """TODO"""

    name: Annotated[str, Meta(max_length=54, min_length=1)] | None = None
    base_dns_domain: str | None = None
    cluster_network_cidr: str | None = None
    platform: Platform | None = None
    cluster_network_host_prefix: Annotated[int, Meta(le=128, ge=1)] | None = None
    service_network_cidr: str | None = None
    api_vips: tuple[ApiVip, ...] | None = None
    ingress_vips: tuple[IngressVip, ...] | None = None
    api_vip_dns_name: str | None = None
    machine_network_cidr: str | None = None
    pull_secret: str | None = None
    ssh_public_key: str | None = None
    vip_dhcp_allocation: bool | None = None
    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: str | None = None
    user_managed_networking: bool | None = None
    additional_ntp_source: str | None = None
    ntp_sources: str | None = None
    olm_operators: tuple[OperatorCreateParams, ...] | None = None
    operator_bundles: tuple[BundleCreateParams, ...] | None = None
    hyperthreading: (
        Literal[
            "none",
            "masters",
            "arbiters",
            "workers",
            "masters,arbiters",
            "masters,workers",
            "arbiters,workers",
            "masters,arbiters,workers",
            "all",
        ]
        | None
    ) = None
    network_type: Literal["OpenShiftSDN", "OVNKubernetes", "CiscoACI", "Cilium", "Calico", "None"] | None = (
        None
    )
    schedulable_masters: bool | None = None
    cluster_networks: tuple[ClusterNetwork, ...] | None = None
    service_networks: tuple[ServiceNetwork, ...] | None = None
    machine_networks: tuple[MachineNetwork, ...] | None = None
    disk_encryption: DiskEncryption | None = None
    ignition_endpoint: IgnitionEndpoint | None = None
    tags: str | None = None
    control_plane_count: int | None = None
    load_balancer: LoadBalancer | None = None
    os_stream: str | None = None
