# SPDX-License-Identifier: Apache-2.0
"""What hosts are asked to do."""

from __future__ import annotations

from typing import Any, Literal

from muster.model.wire.enums import HostRole, StepType, VipType
from muster.model.wire.infra_env import Proxy
from muster.model.wire.struct import Wire


class ApiVipConnectivityAdditionalRequestHeader(Wire):
    """TODO"""

    key: str | None = None
    value: str | None = None


class ApiVipConnectivityRequest(Wire):
    """TODO"""

    url: str
    verify_cidr: bool | None = None
    ca_certificate: str | None = None
    ignition_endpoint_token: str | None = None
    request_headers: tuple[ApiVipConnectivityAdditionalRequestHeader, ...] | None = None


class ConnectivityCheckNic(Wire):
    """TODO"""

    name: str | None = None
    mac: str | None = None
    ip_addresses: tuple[str, ...] | None = None


class ConnectivityCheckHost(Wire):
    """TODO"""

    host_id: str | None = None
    nics: tuple[ConnectivityCheckNic, ...] | None = None


class ContainerImageAvailabilityRequest(Wire):
    """TODO"""

    images: tuple[str, ...]
    timeout: int | None = None


class DhcpAllocationRequest(Wire):
    """TODO"""

    interface: str
    api_vip_mac: str
    ingress_vip_mac: str
    api_vip_lease: str | None = None
    ingress_vip_lease: str | None = None


class DiskSpeedCheckRequest(Wire):
    """TODO"""

    path: str


class DomainResolutionRequest(Wire):
    """TODO"""

    domains: tuple[Any, ...]


class DownloadBootArtifactsRequest(Wire):
    """TODO"""

    kernel_url: str
    rootfs_url: str
    initrd_url: str
    host_fs_mount_dir: str


class InstallCmdRequest(Wire):
    """TODO"""

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


class LogsGatherCmdRequest(Wire):
    """TODO"""

    cluster_id: str
    infra_env_id: str
    host_id: str
    bootstrap: bool
    installer_gather: bool
    master_ips: tuple[str, ...] | None = None


class NextStepCmdRequest(Wire):
    """TODO"""

    infra_env_id: str
    host_id: str
    agent_version: str


class NtpSynchronizationRequest(Wire):
    """TODO"""

    ntp_source: str


class RebootForReclaimRequest(Wire):
    """TODO"""

    host_fs_mount_dir: str


class Step(Wire):
    """TODO"""

    step_type: StepType | None = None
    step_id: str | None = None
    args: tuple[str, ...] | None = None


class Steps(Wire):
    """TODO"""

    next_instruction_seconds: int | None = None
    post_step_action: Literal["exit", "continue"] | None = None
    instructions: tuple[Step, ...] | None = None


class TangConnectivityRequest(Wire):
    """TODO"""

    tang_servers: str


class UpgradeAgentRequest(Wire):
    """TODO"""

    agent_image: str | None = None


class VerifyVip(Wire):
    """TODO"""

    vip: str | None = None
    vip_type: VipType | None = None
