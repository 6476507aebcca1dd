# SPDX-License-Identifier: Apache-2.0
"""What hosts are asked to do."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from muster.model.wire.enums import HostRole, StepType, VipType
from muster.model.wire.infra_env import Proxy
from muster.model.wire.struct import Wire, about


class ApiVipRequestHeader(Wire, frozen=True, kw_only=True):
    """A header that is sent when Ignition is fetched."""

    key: str | None = None
    value: str | None = None


class ApiVipConnectivityRequest(Wire, frozen=True, kw_only=True):
    """Ignition that a host is to fetch, to see whether it can."""

    url: str
    verify_cidr: bool | None = None
    ca_certificate: str | None = None
    ignition_endpoint_token: str | None = None
    request_headers: tuple[ApiVipRequestHeader, ...] | None = None


class ConnectivityCheckNic(Wire, frozen=True, kw_only=True):
    """A network interface of a peer that is to be checked."""

    name: str | None = None
    mac: str | None = None
    ip_addresses: tuple[str, ...] | None = None


class ConnectivityCheckHost(Wire, frozen=True, kw_only=True):
    """A peer that is to be checked."""

    host_id: str | None = None
    nics: tuple[ConnectivityCheckNic, ...] | None = None


class ContainerImageAvailabilityRequest(Wire, frozen=True, kw_only=True):
    """Container images that a host is to pull."""

    images: tuple[str, ...]
    timeout: int | None = None


class DhcpAllocationRequest(Wire, frozen=True, kw_only=True):
    """Leases that a host is to ask for on behalf of the cluster."""

    interface: str
    api_vip_mac: str
    ingress_vip_mac: str
    api_vip_lease: str | None = None
    ingress_vip_lease: str | None = None


class DiskSpeedCheckRequest(Wire, frozen=True, kw_only=True):
    """A disk whose speed is to be measured."""

    path: str


class DomainResolutionRequest(Wire, frozen=True, kw_only=True):
    """Names that a host is to resolve."""

    domains: tuple[Any, ...]


class DownloadBootArtifactsRequest(Wire, frozen=True, kw_only=True):
    """What a host is to fetch to start the discovery image from its own disk."""

    kernel_url: str
    rootfs_url: str
    initrd_url: str
    host_fs_mount_dir: str


class InstallCmdRequest(Wire, frozen=True, kw_only=True):
    """How a host is to be installed."""

    cluster_id: str
    infra_env_id: str
    host_id: str
    role: HostRole
    boot_device: str
    controller_image: str
    installer_image: str
    control_plane_count: int | None = None
    proxy: Proxy | None = None
    check_cvo: bool | None = None
    disks_to_format: tuple[str, ...] | None = None
    must_gather_image: str | None = None
    mco_image: str | None = None
    openshift_version: str | None = None
    service_ips: tuple[str, ...] | None = None
    installer_args: str | None = None
    skip_installation_disk_cleanup: bool | None = None
    enable_skip_mco_reboot: bool | None = None
    notify_num_reboots: bool | None = None
    coreos_image: str | None = None


class LogsGatherCmdRequest(Wire, frozen=True, kw_only=True):
    """Logs that a host is to collect."""

    cluster_id: str
    infra_env_id: str
    host_id: str
    bootstrap: bool
    installer_gather: bool
    master_ips: tuple[str, ...] | None = None


class NextStepCmdRequest(Wire, frozen=True, kw_only=True):
    """With which identity the agent asks for instructions."""

    infra_env_id: str
    host_id: str
    agent_version: str


class NtpSynchronizationRequest(Wire, frozen=True, kw_only=True):
    """Time servers that a host is to use as well."""

    ntp_source: str


class RebootForReclaimRequest(Wire, frozen=True, kw_only=True):
    """That a host is to start the discovery image from its own disk."""

    host_fs_mount_dir: str


class Step(Wire, frozen=True, kw_only=True):
    """Something that a host is to do."""

    step_type: StepType | None = None
    step_id: str | None = None
    args: Annotated[tuple[str, ...] | None, about("One JSON object in a string, or a command line.")] = None


class Steps(Wire, frozen=True, kw_only=True):
    """What a host is to do next, and when it is to ask again."""

    next_instruction_seconds: Annotated[int | None, about("When the agent is to ask again.")] = None
    post_step_action: Annotated[
        Literal["exit", "continue"] | None, about("Whether the agent goes on to ask, or ends.")
    ] = None
    instructions: tuple[Step, ...] | None = None


class TangConnectivityRequest(Wire, frozen=True, kw_only=True):
    """Tang servers that a host is to reach, as JSON in a string."""

    tang_servers: str


class UpgradeAgentRequest(Wire, frozen=True, kw_only=True):
    """The agent that a host is to get."""

    agent_image: str | None = None


class VerifyVip(Wire, frozen=True, kw_only=True):
    """A virtual address that a host is to look for."""

    vip: str | None = None
    vip_type: VipType | None = None
