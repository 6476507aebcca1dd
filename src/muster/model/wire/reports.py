# SPDX-License-Identifier: Apache-2.0
"""What hosts report of what they were asked to check."""

from __future__ import annotations

from typing import Annotated

from muster.model.wire.enums import (
    ContainerImageAvailabilityResult,
    SourceState,
    StepType,
    UpgradeAgentResult,
    VipType,
    VipVerification,
)
from muster.model.wire.struct import Wire, about


class ApiVipConnectivityResponse(Wire, frozen=True, kw_only=True):
    """Whether a host that joins later could fetch its Ignition."""

    is_success: bool | None = None
    url: str | None = None
    download_error: str | None = None
    ignition: str | None = None


class L2Connectivity(Wire, frozen=True, kw_only=True):
    """What came of asking for a peer's address on the same link."""

    outgoing_nic: str | None = None
    outgoing_ip_address: str | None = None
    remote_ip_address: str | None = None
    remote_mac: str | None = None
    successful: bool | None = None


class L3Connectivity(Wire, frozen=True, kw_only=True):
    """What came of sending packets to a peer's address."""

    outgoing_nic: str | None = None
    remote_ip_address: str | None = None
    successful: bool | None = None
    average_rtt_ms: float | None = None
    packet_loss_percentage: float | None = None


class MtuReport(Wire, frozen=True, kw_only=True):
    """Whether packets of full size reach a peer's address."""

    outgoing_nic: str | None = None
    remote_ip_address: str | None = None
    mtu_successful: bool | None = None


class ConnectivityRemoteHost(Wire, frozen=True, kw_only=True):
    """What a host found about one peer."""

    host_id: str | None = None
    l2_connectivity: tuple[L2Connectivity, ...] | None = None
    l3_connectivity: tuple[L3Connectivity, ...] | None = None
    mtu_report: tuple[MtuReport, ...] | None = None


class ConnectivityReport(Wire, frozen=True, kw_only=True):
    """What a host found about its peers."""

    remote_hosts: tuple[ConnectivityRemoteHost, ...] | None = None


class ContainerImageAvailability(Wire, frozen=True, kw_only=True):
    """Whether a host could pull a container image, and how quickly."""

    name: str | None = None
    size_bytes: float | None = None
    time: float | None = None
    download_rate: float | None = None
    result: ContainerImageAvailabilityResult | None = None


class ContainerImageAvailabilityResponse(Wire, frozen=True, kw_only=True):
    """Which container images a host could pull."""

    images: tuple[ContainerImageAvailability, ...]


class DhcpAllocationResponse(Wire, frozen=True, kw_only=True):
    """Addresses that a host was leased for the cluster."""

    api_vip_address: str
    ingress_vip_address: str
    api_vip_lease: str | None = None
    ingress_vip_lease: str | None = None


class DiskSpeed(Wire, frozen=True, kw_only=True):
    """How quick a disk is."""

    tested: bool | None = None
    exit_code: int | None = None
    speed_ms: int | None = None


class DiskInfo(Wire, frozen=True, kw_only=True):
    """What is known of a disk beside the inventory."""

    id: str | None = None
    path: str | None = None
    disk_speed: DiskSpeed | None = None


class DiskSpeedCheckResponse(Wire, frozen=True, kw_only=True):
    """How long a disk takes to store something for good."""

    io_sync_duration: Annotated[int | None, about("Milliseconds.")] = None
    path: str | None = None


class DomainResolution(Wire, frozen=True, kw_only=True):
    """What a host resolved a name to."""

    domain_name: str
    ipv4_addresses: tuple[str, ...] | None = None
    ipv6_addresses: tuple[str, ...] | None = None
    cnames: tuple[str, ...] | None = None


class DomainResolutionResponse(Wire, frozen=True, kw_only=True):
    """What a host resolved names to."""

    resolutions: tuple[DomainResolution, ...]


class FreeNetworkAddresses(Wire, frozen=True, kw_only=True):
    """Addresses of a subnet that nobody answered from."""

    network: str | None = None
    free_addresses: tuple[str, ...] | None = None


class NtpSource(Wire, frozen=True, kw_only=True):
    """A time server, as a host sees it."""

    source_name: str | None = None
    source_state: SourceState | None = None


class NtpSynchronizationResponse(Wire, frozen=True, kw_only=True):
    """The time servers, as a host sees them."""

    ntp_sources: tuple[NtpSource, ...] | None = None


class StepReply(Wire, frozen=True, kw_only=True):
    """What came of a step."""

    step_type: StepType | None = None
    step_id: str | None = None
    exit_code: Annotated[
        int | None, about("0 if all is well; 256 if the boot medium cannot be read any more.")
    ] = None
    output: Annotated[str | None, about("JSON in a string; its shape depends on the step.")] = None
    error: str | None = None


class TangSignature(Wire, frozen=True, kw_only=True):
    """A signature of a Tang server's advertisement."""

    protected: str | None = None
    signature: str | None = None


class TangServerResponse(Wire, frozen=True, kw_only=True):
    """What a Tang server advertises."""

    tang_url: str | None = None
    payload: str | None = None
    signatures: tuple[TangSignature, ...] | None = None


class TangConnectivityResponse(Wire, frozen=True, kw_only=True):
    """Whether a host could reach the Tang servers."""

    is_success: bool | None = None
    tang_server_response: tuple[TangServerResponse, ...] | None = None


class UpgradeAgentResponse(Wire, frozen=True, kw_only=True):
    """Whether a host has the agent that it was told to get."""

    agent_image: str | None = None
    result: UpgradeAgentResult | None = None


class VerifiedVip(Wire, frozen=True, kw_only=True):
    """Whether a virtual address is free."""

    vip: str | None = None
    vip_type: VipType | None = None
    verification: VipVerification | None = None
