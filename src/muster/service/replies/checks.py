# SPDX-License-Identifier: Apache-2.0
"""The smaller checks: time, names, addresses, disks, images, and who answers elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any, Final, TypeVar

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
from muster.service.derive.disks import device_path
from muster.service.derive.names import effective_name
from muster.service.derive.phases import is_cluster_open
from muster.service.realm import Draft
from muster.service.refusals import BadRequest
from muster.service.replies.reading import check_items, check_kept, read_output
from muster.service.state import Host

V = TypeVar("V", ApiVip, IngressVip)
_MOST_SOURCES: Final = 128
_MOST_NETWORKS: Final = 32
_MOST_FREE: Final = 1024
"""Free addresses of a network: the service asks for those of /22 and smaller."""
_MOST_FREE_BYTES: Final = 1 << 20
_MOST_TARGETS: Final = 64
"""Addresses that one name leads to."""
_MOST_FILES: Final = 1000
"""Files of a configuration whose names are kept."""
_MOST_OUTLINE: Final = 256 << 10
_MOST_PAYLOAD: Final = 16 << 10
_LONGEST_NAME: Final = 255
_LONGEST_ADDRESS: Final = 64
_LONGEST_ERROR: Final = 500
_LONGEST_URL: Final = 2048
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
    check_kept("ntp-synchronizer", sources, most_text=_LONGEST_NAME)
    draft.change(host, ntp_sources=sources)


def take_free_addresses(draft: Draft, host: Host, reply: StepReply) -> None:
    """Which addresses of its subnets nobody answers from. No answer at all: it is still looking."""
    if not reply.output:
        return
    found = read_output("free-network-addresses", reply.output, tuple[FreeNetworkAddresses, ...])
    told = {each.network: each.free_addresses or () for each in found if each.network in host.networks}
    free = tuple(
        FreeNetworkAddresses(network=network, free_addresses=told[network][:_MOST_FREE])
        for network in sorted(told.keys() - {None}, key=str)[:_MOST_NETWORKS]
    )
    check_kept("free-network-addresses", free, most_bytes=_MOST_FREE_BYTES, most_text=_LONGEST_ADDRESS)
    draft.change(host, free_addresses=free)


def take_vips(draft: Draft, host: Host, reply: StepReply) -> None:
    """Whether somebody answers from the virtual addresses already."""
    if draft.is_pool:
        return
    found = read_output("verify-vips", reply.output or "", tuple[VerifiedVip, ...])
    api, ingress = draft.cluster.api_vips, draft.cluster.ingress_vips
    asked = {*(each.ip for each in api), *(each.ip for each in ingress)} - {None}
    told = {(each.vip or "", each.vip_type or ""): each for each in found if each.vip in asked}
    draft.change(host, verified_vips=tuple(told[key] for key in sorted(told)))


def take_resolutions(draft: Draft, host: Host, reply: StepReply, asked: Set[str]) -> None:
    """What names lead to; servers turn the order of addresses around with every answer."""
    if reply.exit_code:
        return
    found = read_output("domain-resolution", reply.output or "", DomainResolutionResponse).resolutions
    told = {
        each.domain_name: replace(
            each,
            ipv4_addresses=_sorted(each.ipv4_addresses),
            ipv6_addresses=_sorted(each.ipv6_addresses),
            cnames=_sorted(each.cnames),
        )
        for each in found
        if each.domain_name in asked
    }
    resolutions = tuple(told[name] for name in sorted(told))
    check_kept("domain-resolution", resolutions, most_text=_LONGEST_NAME)
    draft.change(host, resolutions=resolutions)


def _sorted(texts: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return tuple(sorted(texts)[:_MOST_TARGETS]) if texts else None


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
    there = _disk_paths(host)
    if path not in there:
        raise BadRequest(
            f"output of step installation-disk-speed-check: the host has no disk {path[:_LONGEST_NAME]!r}",
            hint="measure the disk that the step names",
        )
    kept = {name: each for name, each in host.disk_speeds.items() if name in there}
    draft.change(host, disk_speeds={**kept, path: speed})
    if (speed.speed_ms or 0) > SLOW_DISK_MS:
        message = (
            f"Host {effective_name(host)}: disk {path} takes {speed.speed_ms} ms to write durably, "
            f"more than the {SLOW_DISK_MS} ms that etcd can live with"
        )
        draft.tell(host, "disk_speed_slower_than_supported", message, severity="warning", path=path)


def _disk_paths(host: Host) -> set[str]:
    """Where the disks of a host are."""
    disks = (host.inventory.disks if host.inventory is not None else None) or ()
    return {host.installation_disk_path, *map(device_path, disks)}


def take_images(draft: Draft, host: Host, reply: StepReply, asked: Set[str]) -> None:
    """Which images a host can get. What was known of others stays; a second look is not slower or quicker."""
    if not reply.output:
        return
    found = read_output(
        "container-image-availability", reply.output, ContainerImageAvailabilityResponse
    ).images
    images: dict[str | None, ContainerImageAvailability] = {each.name: each for each in host.images}
    told = {each.name: each for each in found if each.name in asked}
    news = [each for each in told.values() if _result(images.get(each.name)) != each.result]
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
    check_kept("tang-connectivity-check", found, most_text=_MOST_PAYLOAD)
    draft.change(host, tang_connectivity=replace(found, is_success=bool(found.is_success)))


def take_api_vip(draft: Draft, host: Host, reply: StepReply) -> None:
    """Whether the cluster that a host is to join hands out its configuration, and what of it matters."""
    found = read_output("api-vip-connectivity-check", reply.output or "", ApiVipConnectivityResponse)
    shown = replace(
        found,
        is_success=bool(found.is_success),
        url=found.url and found.url[:_LONGEST_URL],
        download_error=found.download_error and found.download_error[:_LONGEST_ERROR],
        ignition=_outline(found.ignition),
    )
    check_kept("api-vip-connectivity-check", shown, most_bytes=_MOST_OUTLINE, most_text=_MOST_OUTLINE)
    draft.change(host, api_vip_connectivity=shown)


def _outline(ignition: str | None) -> str | None:
    """Which files and encrypted volumes a configuration makes; what is in them is nobody's business."""
    if not ignition:
        return None
    check_items("the ignition of step api-vip-connectivity-check", ignition)
    try:
        storage = msgspec.json.decode(ignition)["storage"]
        files = [{"path": each["path"]} for each in (storage.get("files") or ())[:_MOST_FILES]]
        luks = [
            {name: each[name] for name in ("name", "clevis") if name in each}
            for each in storage.get("luks") or ()
        ]
        return msgspec.json.encode({"storage": {"files": files, "luks": luks}}).decode()
    except (msgspec.DecodeError, RecursionError, ValueError, KeyError, TypeError, AttributeError):
        return None


def take_leases(draft: Draft, host: Host, reply: StepReply, asked: Set[str]) -> None:
    """Virtual addresses that a DHCP server gave. The first answer counts until a person changes it.

    They are settled when the installation begins. A later answer that differs is reported and not taken.
    """
    if draft.is_pool or not asked or reply.exit_code or not draft.cluster.vip_dhcp_allocation:
        return
    cluster = draft.cluster
    if not is_cluster_open(cluster):
        return
    found = read_output("dhcp-lease-allocate", reply.output or "", DhcpAllocationResponse)
    given = (found.api_vip_address, found.ingress_vip_address)
    networks = [each.cidr or "" for each in cluster.machine_networks]
    for address in given:
        if len(address) > _LONGEST_ADDRESS or not _is_in_any(address, networks):
            shown = address[:_LONGEST_ADDRESS]
            raise BadRequest(
                f"output of step dhcp-lease-allocate: {shown} is not in the machine network",
                hint=f"check the DHCP server of host {effective_name(host)}",
            )
    api, ingress = _settled(cluster.api_vips, networks), _settled(cluster.ingress_vips, networks)
    known = (*(each.ip or "" for each in api), *(each.ip or "" for each in ingress))
    if not set(known) <= set(given):
        message = (
            f"Host {effective_name(host)}: a DHCP server gave it the virtual addresses {', '.join(given)};"
            f" the cluster keeps {', '.join(known)}"
        )
        draft.tell(host, "other_vip_lease", message, severity="warning")
    draft.change(
        cluster,
        api_vips=api or (ApiVip(cluster_id=cluster.id, ip=given[0]),),
        ingress_vips=ingress or (IngressVip(cluster_id=cluster.id, ip=given[1]),),
    )


def _settled(vips: tuple[V, ...], networks: Iterable[str]) -> tuple[V, ...]:
    """Virtual addresses that a lease does not replace: those in the machine networks."""
    return vips if vips and all(_is_in_any(each.ip or "", networks) for each in vips) else ()


def _is_in_any(address: str, networks: Iterable[str]) -> bool:
    return any(is_inside(address, network) for network in networks)


def take_upgrade(draft: Draft, host: Host, reply: StepReply, asked: Set[str]) -> None:
    """Whether a new agent could be fetched; nothing when nobody asked for one."""
    found = read_output("upgrade-agent", reply.output or "{}", UpgradeAgentResponse)
    name = effective_name(host) or host.id
    for image in sorted(asked):
        if found.result == "success" and found.agent_image == image and not reply.exit_code:
            draft.tell(host, "upgrade_agent_finished", f"Host {name}: fetched agent {image}")
        else:
            message = f"Host {name}: could not fetch agent {image}"
            draft.tell(host, "upgrade_agent_failed", message, severity="error")
