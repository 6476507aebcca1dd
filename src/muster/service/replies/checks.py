# SPDX-License-Identifier: Apache-2.0
"""The smaller checks: time, names, addresses, disks, images, and who answers elsewhere."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from muster.model.wire.cluster import ApiVip, IngressVip
from muster.model.wire.reports import (
    ApiVipConnectivityResponse,
    ContainerImageAvailability,
    ContainerImageAvailabilityResponse,
    DhcpAllocationResponse,
    DiskSpeed,
    DiskSpeedCheckResponse,
    DomainResolutionResponse,
    FreeNetworkAddresses,
    NtpSource,
    NtpSynchronizationResponse,
    StepReply,
    TangConnectivityResponse,
    UpgradeAgentResponse,
    VerifiedVip,
)
from muster.service.derive.addresses import is_inside
from muster.service.derive.names import effective_name
from muster.service.realm import Draft
from muster.service.refusals import BadRequest
from muster.service.replies.reading import read_output
from muster.service.state import Host

_MOST_SOURCES: Final = 1000
SLOW_DISK_MS: Final = 10


def take_ntp(draft: Draft, host: Host, reply: StepReply) -> None:
    """Which time sources a host has."""
    found = read_output("ntp-synchronizer", reply.output or "", NtpSynchronizationResponse).ntp_sources or ()
    if len(found) > _MOST_SOURCES:
        why = f"the host has more than {_MOST_SOURCES} time sources"
        raise BadRequest(why, hint="send those that are used")
    sources = tuple(
        NtpSource(source_name=each.source_name, source_state=each.source_state or "error")
        for each in sorted(found, key=lambda each: each.source_name or "")
    )
    draft.change(host, ntp_sources=sources)


def take_free_addresses(draft: Draft, host: Host, reply: StepReply) -> None:
    """Which addresses of its subnets nobody answers from. No answer at all: it is still looking."""
    if not reply.output:
        return
    found = read_output("free-network-addresses", reply.output, tuple[FreeNetworkAddresses, ...])
    draft.change(host, free_addresses=tuple(sorted(found, key=lambda each: each.network or "")))


def take_vips(draft: Draft, host: Host, reply: StepReply) -> None:
    """Whether somebody answers from the virtual addresses already."""
    found = read_output("verify-vips", reply.output or "", tuple[VerifiedVip, ...])
    order = sorted(found, key=lambda each: (each.vip or "", each.vip_type or ""))
    draft.change(host, verified_vips=tuple(order))


def take_resolutions(draft: Draft, host: Host, reply: StepReply) -> None:
    """What names lead to; servers turn the order of addresses around with every answer."""
    found = read_output("domain-resolution", reply.output or "", DomainResolutionResponse).resolutions
    resolutions = (
        replace(
            each,
            ipv4_addresses=_sorted(each.ipv4_addresses),
            ipv6_addresses=_sorted(each.ipv6_addresses),
            cnames=_sorted(each.cnames),
        )
        for each in found
    )
    draft.change(host, resolutions=tuple(sorted(resolutions, key=lambda each: each.domain_name)))


def _sorted(texts: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return tuple(sorted(texts)) if texts else None


def take_disk_speed(draft: Draft, host: Host, reply: StepReply) -> None:
    """How quickly a disk has written what it says it has. No answer at all: it is still being measured."""
    if not reply.exit_code and not reply.output:
        return
    if reply.exit_code:
        path, speed = host.installation_disk_path, DiskSpeed(tested=True, exit_code=reply.exit_code)
    else:
        found = read_output("installation-disk-speed-check", reply.output or "", DiskSpeedCheckResponse)
        path = found.path or host.installation_disk_path
        speed = DiskSpeed(tested=True, exit_code=0, speed_ms=found.io_sync_duration)
    if host.disk_speeds.get(path) == speed:
        return
    draft.change(host, disk_speeds={**host.disk_speeds, path: speed})
    if (speed.speed_ms or 0) > SLOW_DISK_MS:
        message = (
            f"Host {effective_name(host)}: disk {path} takes {speed.speed_ms} ms to write durably, "
            f"more than the {SLOW_DISK_MS} ms that etcd can live with"
        )
        draft.tell(host, "disk_speed_slower_than_supported", message, severity="warning", path=path)


def take_images(draft: Draft, host: Host, reply: StepReply) -> None:
    """Which images a host can get. What was known of others stays; a second look is not slower or quicker."""
    if not reply.output:
        return
    found = read_output(
        "container-image-availability", reply.output, ContainerImageAvailabilityResponse
    ).images
    images: dict[str | None, ContainerImageAvailability] = {each.name: each for each in host.images}
    news = [each for each in found if each.name and _result(images.get(each.name)) != each.result]
    if not news:
        return
    images |= {each.name: each for each in news}
    draft.change(host, images=tuple(sorted(images.values(), key=lambda each: each.name or "")))
    for each in news:
        message = f"Host {effective_name(host)}: image {each.name}: {each.result}"
        severity: Any = "info" if each.result == "success" else "error"
        draft.tell(host, "image_status_updated", message, severity=severity, image=each.name)


def _result(image: ContainerImageAvailability | None) -> str | None:
    return image.result if image is not None else None


def take_tang(draft: Draft, host: Host, reply: StepReply) -> None:
    """Whether the servers that unlock disks answer."""
    if reply.exit_code:
        draft.change(host, tang_connectivity=TangConnectivityResponse(is_success=False))
        return
    found = read_output("tang-connectivity-check", reply.output or "", TangConnectivityResponse)
    draft.change(host, tang_connectivity=replace(found, is_success=bool(found.is_success)))


def take_api_vip(draft: Draft, host: Host, reply: StepReply) -> None:
    """Whether the cluster that a host is to join hands out its configuration, and what of it matters."""
    found = read_output("api-vip-connectivity-check", reply.output or "", ApiVipConnectivityResponse)
    shown = replace(found, is_success=bool(found.is_success), ignition=_outline(found.ignition))
    draft.change(host, api_vip_connectivity=shown)


def _outline(ignition: str | None) -> str | None:
    """Which files and encrypted volumes a configuration makes; what is in them is nobody's business."""
    if not ignition:
        return None
    try:
        storage = msgspec.json.decode(ignition)["storage"]
        files = [{"path": each["path"]} for each in storage.get("files") or ()]
        luks = [
            {name: each[name] for name in ("name", "clevis") if name in each}
            for each in storage.get("luks") or ()
        ]
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        return None
    return msgspec.json.encode({"storage": {"files": files, "luks": luks}}).decode()


def take_leases(draft: Draft, host: Host, reply: StepReply) -> None:
    """Which virtual addresses a DHCP server gave."""
    if draft.is_pool or not draft.cluster.vip_dhcp_allocation:
        return
    found = read_output("dhcp-lease-allocate", reply.output or "", DhcpAllocationResponse)
    networks = [each.cidr or "" for each in draft.cluster.machine_networks]
    for address in (found.api_vip_address, found.ingress_vip_address):
        if not any(is_inside(address, network) for network in networks):
            raise BadRequest(
                f"output of step dhcp-lease-allocate: {address} is not in the machine network",
                hint=f"check the DHCP server of host {effective_name(host)}",
            )
    id = draft.cluster.id
    api, ingress = draft.cluster.api_vips, draft.cluster.ingress_vips
    if [each.ip for each in api] != [found.api_vip_address]:
        api = (ApiVip(cluster_id=id, ip=found.api_vip_address),)
    if [each.ip for each in ingress] != [found.ingress_vip_address]:
        ingress = (IngressVip(cluster_id=id, ip=found.ingress_vip_address),)
    draft.change(draft.cluster, api_vips=api, ingress_vips=ingress)


def take_upgrade(draft: Draft, host: Host, reply: StepReply) -> None:
    """Whether a new agent could be fetched."""
    found = read_output("upgrade-agent", reply.output or "{}", UpgradeAgentResponse)
    name = effective_name(host) or host.id
    if found.result == "success" and not reply.exit_code:
        draft.tell(host, "upgrade_agent_finished", f"Host {name}: fetched agent {found.agent_image}")
    else:
        message = f"Host {name}: could not fetch agent {found.agent_image or ''}".rstrip()
        draft.tell(host, "upgrade_agent_failed", message, severity="error")
