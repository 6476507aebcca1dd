# SPDX-License-Identifier: Apache-2.0
"""What hosts report of what they were asked to check."""

from __future__ import annotations

from muster.model.wire.enums import (
    ContainerImageAvailabilityResult,
    SourceState,
    StepType,
    UpgradeAgentResult,
    VipType,
    VipVerification,
)
from muster.model.wire.struct import Wire


class ApiVipConnectivityResponse(Wire):
    """TODO"""

    is_success: bool | None = None
    url: str | None = None
    download_error: str | None = None
    ignition: str | None = None


class L2Connectivity(Wire):
    """TODO"""

    outgoing_nic: str | None = None
    outgoing_ip_address: str | None = None
    remote_ip_address: str | None = None
    remote_mac: str | None = None
    successful: bool | None = None


class L3Connectivity(Wire):
    """TODO"""

    outgoing_nic: str | None = None
    remote_ip_address: str | None = None
    successful: bool | None = None
    average_rtt_ms: float | None = None
    packet_loss_percentage: float | None = None


class MtuReport(Wire):
    """TODO"""

    outgoing_nic: str | None = None
    remote_ip_address: str | None = None
    mtu_successful: bool | None = None


class ConnectivityRemoteHost(Wire):
    """TODO"""

    host_id: str | None = None
    l2_connectivity: tuple[L2Connectivity, ...] | None = None
    l3_connectivity: tuple[L3Connectivity, ...] | None = None
    mtu_report: tuple[MtuReport, ...] | None = None


class ConnectivityReport(Wire):
    """TODO"""

    remote_hosts: tuple[ConnectivityRemoteHost, ...] | None = None


class ContainerImageAvailability(Wire):
    """TODO"""

    name: str | None = None
    size_bytes: float | None = None
    time: float | None = None
    download_rate: float | None = None
    result: ContainerImageAvailabilityResult | None = None


class ContainerImageAvailabilityResponse(Wire):
    """TODO"""

    images: tuple[ContainerImageAvailability, ...]


class DhcpAllocationResponse(Wire):
    """TODO"""

    api_vip_address: str
    ingress_vip_address: str
    api_vip_lease: str | None = None
    ingress_vip_lease: str | None = None


class DiskSpeed(Wire):
    """TODO"""

    tested: bool | None = None
    exit_code: int | None = None
    speed_ms: int | None = None


class DiskInfo(Wire):
    """TODO"""

    id: str | None = None
    path: str | None = None
    disk_speed: DiskSpeed | None = None


class DiskSpeedCheckResponse(Wire):
    """TODO"""

    io_sync_duration: int | None = None
    path: str | None = None


class DomainResolutionResponseResolutions(Wire):
    """TODO"""

    domain_name: str
    ipv4_addresses: tuple[str, ...] | None = None
    ipv6_addresses: tuple[str, ...] | None = None
    cnames: tuple[str, ...] | None = None


class DomainResolutionResponse(Wire):
    """TODO"""

    resolutions: tuple[DomainResolutionResponseResolutions, ...]


class FreeNetworkAddresses(Wire):
    """TODO"""

    network: str | None = None
    free_addresses: tuple[str, ...] | None = None


class NtpSource(Wire):
    """TODO"""

    source_name: str | None = None
    source_state: SourceState | None = None


class NtpSynchronizationResponse(Wire):
    """TODO"""

    ntp_sources: tuple[NtpSource, ...] | None = None


class StepReply(Wire):
    """TODO"""

    step_type: StepType | None = None
    step_id: str | None = None
    exit_code: int | None = None
    output: str | None = None
    error: str | None = None


class TangConnectivityResponseSignatures(Wire):
    """TODO"""

    protected: str | None = None
    signature: str | None = None


class TangConnectivityResponseTangServerResponse(Wire):
    """TODO"""

    tang_url: str | None = None
    payload: str | None = None
    signatures: tuple[TangConnectivityResponseSignatures, ...] | None = None


class TangConnectivityResponse(Wire):
    """TODO"""

    is_success: bool | None = None
    tang_server_response: tuple[TangConnectivityResponseTangServerResponse, ...] | None = None


class UpgradeAgentResponse(Wire):
    """TODO"""

    agent_image: str | None = None
    result: UpgradeAgentResult | None = None


class VerifiedVip(Wire):
    """TODO"""

    vip: str | None = None
    vip_type: VipType | None = None
    verification: VipVerification | None = None
