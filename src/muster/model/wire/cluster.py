# SPDX-License-Identifier: Apache-2.0
"""A cluster, and what may be asked of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, field

from muster.model.wire.enums import (
    ClusterStatus,
    FinalizingStage,
    ImageType,
    LogsState,
    NetworkType,
    NodeRoles,
    PlatformType,
    ReleaseArchitecture,
    VipVerification,
)
from muster.model.wire.host import Host
from muster.model.wire.operators import BundleCreateParams, MonitoredOperator, OperatorCreateParams
from muster.model.wire.struct import JsonList, PullSecret, PullSecretSet, Servers, Tags, Time, Wire, about

First: TypeAlias = Annotated[str | None, about("The first network of its kind; kept for older clients.")]
Only: TypeAlias = Annotated[str | None, about("Older way to give one network of its kind.")]
Prefix: TypeAlias = Annotated[int, Meta(le=128, ge=1), about("Length of the prefix that each host gets.")]


class ApiVip(Wire, frozen=True, kw_only=True):
    """An address under which the cluster's API is reached."""

    cluster_id: str | None = None
    ip: str | None = None
    verification: VipVerification | None = None


class ClusterNetwork(Wire, frozen=True, kw_only=True):
    """A range that pods get their addresses from."""

    cluster_id: str | None = None
    cidr: str | None = None
    host_prefix: Prefix | None = None


class ClusterProgressInfo(Wire, frozen=True, kw_only=True):
    """How far the installation of a cluster is."""

    total_percentage: Annotated[int | None, about("0 to 100.")] = None
    preparing_for_installation_stage_percentage: int | None = None
    installing_stage_percentage: int | None = None
    finalizing_stage_percentage: int | None = None
    finalizing_stage: FinalizingStage | None = None
    finalizing_stage_started_at: Time | None = None
    finalizing_stage_timed_out: bool | None = None


class DiskEncryption(Wire, frozen=True, kw_only=True):
    """Whether and how the disks of hosts are encrypted."""

    enable_on: NodeRoles | None = None
    mode: Literal["tpmv2", "tang"] | None = None
    tang_servers: Annotated[str | None, about("JSON in a string: addresses and thumbprints.")] = None


class HostNetwork(Wire, frozen=True, kw_only=True):
    """A subnet, and the hosts that have an address in it."""

    cidr: str | None = None
    host_ids: tuple[str, ...] | None = None


class IgnitionEndpoint(Wire, frozen=True, kw_only=True):
    """Where hosts that join later fetch their Ignition."""

    url: str | None = None
    ca_certificate: str | None = None


class ImageInfo(Wire, frozen=True, kw_only=True):
    """The discovery image of a cluster; kept for older clients, an infra-env tells more."""

    ssh_public_key: str | None = None
    size_bytes: Annotated[int, Meta(ge=0)] | None = None
    download_url: str | None = None
    generator_version: str | None = None
    created_at: Time | None = None
    expires_at: Time | None = None
    static_network_config: str | None = None
    type: ImageType | None = None


class IngressVip(Wire, frozen=True, kw_only=True):
    """An address under which the cluster's applications are reached."""

    cluster_id: str | None = None
    ip: str | None = None
    verification: VipVerification | None = None


class LastInstallationPreparation(Wire, frozen=True, kw_only=True):
    """How the last preparation of an installation ended."""

    status: Literal["not_started", "failed", "success"] | None = None
    reason: str | None = None


class LoadBalancer(Wire, frozen=True, kw_only=True):
    """Who spreads the traffic over the control plane."""

    type: Literal["cluster-managed", "user-managed"] | None = None


class MachineNetwork(Wire, frozen=True, kw_only=True):
    """A subnet that hosts of the cluster have addresses in."""

    cluster_id: str | None = None
    cidr: str | None = None


class PlatformExternal(Wire, frozen=True, kw_only=True):
    """What is known of a platform that the cluster itself knows nothing of."""

    platform_name: Annotated[str, Meta(min_length=1)] | None = None
    cloud_controller_manager: Literal["", "External"] | None = None


class Platform(Wire, frozen=True, kw_only=True):
    """What the cluster's hosts run on, as far as the cluster makes use of it."""

    type: PlatformType
    external: PlatformExternal | None = None


class ServiceNetwork(Wire, frozen=True, kw_only=True):
    """A range that services get their addresses from."""

    cluster_id: str | None = None
    cidr: str | None = None


class Cluster(Wire, frozen=True, kw_only=True):
    """A cluster that is, or is to be."""

    kind: Literal["Cluster", "AddHostsCluster", "DisconnectedCluster"]
    id: Annotated[str, about("UUID that the service gave it.")]
    href: Annotated[str, about("Path of the cluster under this interface.")]
    image_info: ImageInfo
    status: ClusterStatus
    status_info: Annotated[str, about("The reason of the status, in words.")]
    high_availability_mode: Annotated[
        Literal["Full", "None"] | None, about("Follows from control_plane_count; kept for older clients.")
    ] = None
    name: str | None = None
    user_name: str | None = None
    org_id: str | None = None
    email_domain: str | None = None
    openshift_version: str | None = None
    ocp_release_image: str | None = None
    openshift_cluster_id: Annotated[str | None, about("UUID that the cluster gave itself.")] = None
    os_stream: str | None = None
    platform: Platform | None = None
    base_dns_domain: str | None = None
    cluster_network_cidr: First = None
    cluster_network_host_prefix: Prefix | None = None
    service_network_cidr: First = None
    api_vips: tuple[ApiVip, ...] | None = None
    api_vip_dns_name: str | None = None
    machine_network_cidr: First = None
    ingress_vips: tuple[IngressVip, ...] | None = None
    ssh_public_key: str | None = None
    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: Annotated[
        str | None, about("Names and ranges that are reached without the proxy, separated by commas.")
    ] = None
    status_updated_at: Time | None = None
    progress: ClusterProgressInfo | None = None
    disk_encryption: DiskEncryption | None = None
    hosts: tuple[Host, ...] | None = None
    ready_host_count: Annotated[int | None, about("Hosts that could be installed now.")] = None
    enabled_host_count: Annotated[int | None, about("Hosts that take part.")] = None
    total_host_count: Annotated[int | None, about("All hosts of the cluster.")] = None
    schedulable_masters: bool | None = None
    schedulable_masters_forced_true: Annotated[
        bool | None, about("There are too few workers, so control-plane hosts run applications anyway.")
    ] = None
    updated_at: Time | None = None
    created_at: Time | None = None
    install_started_at: Time | None = None
    install_completed_at: Time | None = None
    host_networks: Annotated[
        tuple[HostNetwork, ...] | None, about("The subnets of all hosts, with the hosts in each.")
    ] = None
    pull_secret_set: PullSecretSet = None
    vip_dhcp_allocation: bool | None = None
    validations_info: Annotated[
        str | None, about("JSON in a string: by category, what each check of the cluster says.")
    ] = None
    logs_info: LogsState | None = None
    install_config_overrides: Annotated[
        str | None, about("JSON in a string that is merged into the install-config.")
    ] = None
    controller_logs_collected_at: Time | None = None
    controller_logs_started_at: Time | None = None
    connectivity_majority_groups: Annotated[
        str | None, about("JSON in a string: by subnet and by family, the hosts that all reach each other.")
    ] = None
    ip_collisions: Annotated[
        str | None, about("JSON in a string: by address, the MACs that answer for it.")
    ] = None
    ignored_host_validations: JsonList = None
    ignored_cluster_validations: JsonList = None
    deleted_at: Any | None = None
    user_managed_networking: Annotated[
        bool | None, about("Follows from platform and load_balancer; kept for older clients.")
    ] = None
    additional_ntp_source: Servers = None
    ntp_sources: Servers = None
    monitored_operators: tuple[MonitoredOperator, ...] | None = None
    operator_bundles: tuple[BundleCreateParams, ...] | None = None
    ams_subscription_id: str | None = None
    hyperthreading: NodeRoles | None = None
    feature_usage: Annotated[str | None, about("JSON in a string: what the cluster makes use of.")] = None
    network_type: NetworkType | None = None
    cluster_networks: tuple[ClusterNetwork, ...] | None = None
    service_networks: tuple[ServiceNetwork, ...] | None = None
    machine_networks: tuple[MachineNetwork, ...] | None = None
    cpu_architecture: ReleaseArchitecture | None = None
    ignition_endpoint: IgnitionEndpoint | None = None
    imported: Annotated[bool | None, about("It was installed elsewhere.")] = None
    tags: Tags = None
    last_installation_preparation: LastInstallationPreparation | None = field(
        default=None, name="last-installation-preparation"
    )
    org_soft_timeouts_enabled: bool | None = None
    control_plane_count: int | None = None
    load_balancer: LoadBalancer | None = None


class ClusterCreateParams(Wire, frozen=True, kw_only=True):
    """What a new cluster is to be like."""

    name: Annotated[str, Meta(max_length=54, min_length=1)]
    openshift_version: Annotated[str, about("A release that the service lists.")]
    pull_secret: PullSecret
    high_availability_mode: Annotated[
        Literal["Full", "None"] | None,
        about("Older way to ask for one control-plane host; use control_plane_count."),
    ] = None
    ocp_release_image: Annotated[
        str | None, about("An image to install in place of the one that belongs to the version.")
    ] = None
    os_stream: str | None = None
    base_dns_domain: str | None = None
    cluster_network_cidr: Only = None
    cluster_network_host_prefix: Prefix | None = None
    service_network_cidr: Only = None
    api_vips: tuple[ApiVip, ...] | None = None
    ingress_vips: tuple[IngressVip, ...] | None = None
    ssh_public_key: str | None = None
    vip_dhcp_allocation: bool | None = None
    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: str | None = None
    user_managed_networking: Annotated[
        bool | None, about("Older way to say that the user sees to load balancing and DNS.")
    ] = None
    additional_ntp_source: Servers = None
    ntp_sources: Servers = None
    olm_operators: tuple[OperatorCreateParams, ...] | None = None
    operator_bundles: tuple[BundleCreateParams, ...] | None = None
    hyperthreading: NodeRoles | None = None
    network_type: NetworkType | None = None
    schedulable_masters: bool | None = None
    cluster_networks: tuple[ClusterNetwork, ...] | None = None
    service_networks: tuple[ServiceNetwork, ...] | None = None
    machine_networks: tuple[MachineNetwork, ...] | None = None
    platform: Platform | None = None
    cpu_architecture: ReleaseArchitecture | None = None
    disk_encryption: DiskEncryption | None = None
    ignition_endpoint: IgnitionEndpoint | None = None
    tags: Tags = None
    control_plane_count: Annotated[int | None, about("One, or three to five.")] = None
    load_balancer: LoadBalancer | None = None


class ClusterDefaultConfig(Wire, frozen=True, kw_only=True):
    """What a new cluster begins with, unless something else is asked."""

    cluster_network_cidr: str | None = None
    cluster_network_host_prefix: Annotated[int, Meta(le=32, ge=1)] | None = None
    inactive_deletion_hours: Annotated[
        int | None, about("After so long without a change a cluster is deleted; 0 means never.")
    ] = None
    service_network_cidr: str | None = None
    ntp_source: str | None = None
    cluster_networks_ipv4: tuple[ClusterNetwork, ...] | None = None
    cluster_networks_dualstack: tuple[ClusterNetwork, ...] | None = None
    service_networks_ipv4: tuple[ServiceNetwork, ...] | None = None
    service_networks_dualstack: tuple[ServiceNetwork, ...] | None = None
    forbidden_hostnames: Annotated[tuple[str, ...] | None, about("Names that a host may not have.")] = None


class ClusterFinalizingProgress(Wire, frozen=True, kw_only=True):
    """Which step of the finalizing is reached."""

    finalizing_stage: FinalizingStage | None = None


class CompletionParams(Wire, frozen=True, kw_only=True):
    """How an installation ended."""

    is_success: bool
    error_info: str | None = None
    data: dict[str, Any] | None = None


class Credentials(Wire, frozen=True, kw_only=True):
    """How people log in to an installed cluster."""

    username: str | None = None
    password: str | None = None
    console_url: str | None = None


class DisconnectedClusterCreateParams(Wire, frozen=True, kw_only=True):
    """What a cluster that is installed without this service is called."""

    name: Annotated[str, Meta(max_length=54, min_length=1)]
    openshift_version: str


Ids: TypeAlias = Annotated[
    str | tuple[str, ...] | None,
    about('JSON list in a string; a plain list is taken too. "all" stands for all that can be ignored.'),
]


class IgnoredValidations(Wire, frozen=True, kw_only=True):
    """Checks that are not to stop the installation, as JSON lists in strings."""

    cluster_validation_ids: Ids = field(default=None, name="cluster-validation-ids")
    host_validation_ids: Ids = field(default=None, name="host-validation-ids")


class ImportClusterParams(Wire, frozen=True, kw_only=True):
    """A cluster that was installed elsewhere."""

    name: str
    api_vip_dnsname: str
    openshift_cluster_id: str
    openshift_version: str | None = None


class V2ClusterUpdateParams(Wire, frozen=True, kw_only=True):
    """What is to change in a cluster; what is not given stays."""

    name: Annotated[str, Meta(max_length=54, min_length=1)] | None = None
    base_dns_domain: str | None = None
    cluster_network_cidr: Only = None
    platform: Platform | None = None
    cluster_network_host_prefix: Prefix | None = None
    service_network_cidr: Only = None
    api_vips: tuple[ApiVip, ...] | None = None
    ingress_vips: tuple[IngressVip, ...] | None = None
    api_vip_dns_name: Annotated[
        str | None, about("Where the API of a cluster that takes further hosts is.")
    ] = None
    machine_network_cidr: Only = None
    pull_secret: PullSecret | None = None
    ssh_public_key: str | None = None
    vip_dhcp_allocation: bool | None = None
    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: str | None = None
    user_managed_networking: Annotated[
        bool | None, about("Older way to say that the user sees to load balancing and DNS.")
    ] = None
    additional_ntp_source: Servers = None
    ntp_sources: Servers = None
    olm_operators: Annotated[
        tuple[OperatorCreateParams, ...] | None,
        about("All operators that are asked for; those that are not named are taken away."),
    ] = None
    operator_bundles: tuple[BundleCreateParams, ...] | None = None
    hyperthreading: NodeRoles | None = None
    network_type: NetworkType | None = None
    schedulable_masters: bool | None = None
    cluster_networks: tuple[ClusterNetwork, ...] | None = None
    service_networks: tuple[ServiceNetwork, ...] | None = None
    machine_networks: tuple[MachineNetwork, ...] | None = None
    disk_encryption: DiskEncryption | None = None
    ignition_endpoint: IgnitionEndpoint | None = None
    tags: Tags = None
    control_plane_count: int | None = None
    load_balancer: LoadBalancer | None = None
    os_stream: str | None = None
