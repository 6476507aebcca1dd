# SPDX-License-Identifier: Apache-2.0
"""Steps about networks: names, time, addresses, and who answers."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

import msgspec

from muster.model.wire.steps import (
    ApiVipConnectivityRequest,
    ApiVipRequestHeader,
    DhcpAllocationRequest,
    DomainResolutionRequest,
    NtpSynchronizationRequest,
    TangConnectivityRequest,
    VerifyVip,
)
from muster.service.derive.addresses import addressed, parse_network
from muster.service.derive.directory import directory_of
from muster.service.state import Cluster
from muster.service.steps.scene import Scene

Args = tuple[str, ...]
_LARGEST_PREFIX: Final = 22
_SCANNERS: Final = 8
"""So many hosts look for free addresses; more of them would see the same."""


def as_json(body: Any) -> str:
    """An argument as agents read it."""
    return msgspec.json.encode(body).decode()


def ntp_synchronizer(scene: Scene) -> Args:
    """Where to get the time from; without a word the host tells what it has."""
    cluster, infra_env = scene.cluster, scene.infra_env
    sources = ""
    if cluster is not None:
        sources = cluster.ntp_sources or cluster.additional_ntp_source
    if not sources and infra_env is not None:
        sources = infra_env.ntp_sources or infra_env.additional_ntp_sources
    return (as_json(NtpSynchronizationRequest(ntp_source=sources)),)


def domain_resolution(scene: Scene) -> Args | None:
    """The cluster's names, one that must not exist, and where the release comes from."""
    cluster = scene.cluster
    if cluster is None or not cluster.base_dns_domain or not cluster.name:
        return None
    domain = f"{cluster.name}.{cluster.base_dns_domain}"
    names = [
        f"api.{domain}",
        f"api-int.{domain}",
        f"console-openshift-console.apps.{domain}",
        f"validateNoWildcardDNS.{domain}",
        f"validateNoWildcardDNS.{domain}.",
    ]
    if scene.means.images is not None and (registry := _registry(scene.means.images.release)):
        names.append(registry)
    domains = tuple({"domain_name": name} for name in dict.fromkeys(names))
    return (as_json(DomainResolutionRequest(domains=domains)),)


def _registry(image: str) -> str:
    """The name of the registry of an image; empty when it is an address."""
    name = image.partition("/")[0].partition(":")[0]
    return "" if "[" in image or name.replace(".", "").isdigit() or "." not in name else name


def verify_vips(scene: Scene) -> Args | None:
    """Whether somebody has the virtual addresses already."""
    cluster = scene.cluster
    if cluster is None or cluster.user_managed_networking:
        return None
    vips = (
        *(VerifyVip(vip=each.ip, vip_type="api") for each in cluster.api_vips if each.ip),
        *(VerifyVip(vip=each.ip, vip_type="ingress") for each in cluster.ingress_vips if each.ip),
    )
    return (as_json(vips),) if vips else None


def free_network_addresses(scene: Scene) -> Args | None:
    """Which addresses of its smaller subnets are free, asked of a few hosts."""
    cluster = scene.cluster
    if cluster is None or cluster.user_managed_networking:
        return None
    before = directory_of(scene.realm).known & ((1 << scene.host.number) - 1)
    if before.bit_count() >= _SCANNERS:
        return None
    small = [subnet for subnet in scene.host.networks if _is_small(subnet)]
    return (as_json(small),) if small else None


def _is_small(subnet: str) -> bool:
    network = parse_network(subnet)
    return network is not None and network.version == 4 and network.prefixlen >= _LARGEST_PREFIX


def dhcp_lease_allocate(scene: Scene) -> Args | None:
    """Virtual addresses from a DHCP server, for MACs that follow from the cluster."""
    cluster = scene.cluster
    if cluster is None or not cluster.vip_dhcp_allocation:
        return None
    networks = {each.cidr for each in cluster.machine_networks}
    nic = next((nic.name for nic, _, subnet in addressed(scene.host.inventory) if subnet in networks), None)
    if not nic:
        return None
    request = DhcpAllocationRequest(
        interface=nic,
        api_vip_mac=vip_mac(cluster, "api"),
        ingress_vip_mac=vip_mac(cluster, "ingress"),
    )
    return (as_json(request),)


def vip_mac(cluster: Cluster, purpose: str) -> str:
    """A MAC of our own for a virtual address, the same each time."""
    digits = sha256(f"{cluster.id} {purpose}".encode()).hexdigest()
    return ":".join(("02", *(digits[at : at + 2] for at in range(0, 10, 2))))


def tang_connectivity_check(scene: Scene) -> Args | None:
    """Whether the servers that unlock disks answer."""
    encryption = scene.cluster.disk_encryption if scene.cluster is not None else None
    if encryption is None or encryption.mode != "tang" or encryption.enable_on in (None, "none"):
        return None
    return (as_json(TangConnectivityRequest(tang_servers=encryption.tang_servers or "[]")),)


def api_vip_connectivity_check(scene: Scene) -> Args | None:
    """Whether the cluster that the host is to join hands out its configuration."""
    cluster, host = scene.cluster, scene.host
    if cluster is None:
        return None
    pool = host.machine_config_pool_name or "worker"
    endpoint = cluster.ignition_endpoint
    if endpoint is not None and endpoint.url:
        url = f"{endpoint.url.rstrip('/')}/{pool}"
    elif address := cluster.api_vip_dns_name or next((each.ip for each in cluster.api_vips if each.ip), None):
        url = f"http://{f'[{address}]' if ':' in address else address}:22624/config/{pool}"
    else:
        return None
    request = ApiVipConnectivityRequest(
        url=url,
        ca_certificate=endpoint.ca_certificate if endpoint is not None else None,
        ignition_endpoint_token=_token(scene),
        request_headers=_headers(host.ignition_endpoint_http_headers),
    )
    return (as_json(request),)


def _token(scene: Scene) -> str | None:
    sealed, open_secret = scene.host.ignition_endpoint_token, scene.means.open_secret
    if not sealed or open_secret is None:
        return None
    return open_secret(scene.host.id, "ignition_endpoint_token", sealed)


def _headers(text: str) -> tuple[ApiVipRequestHeader, ...] | None:
    if not text:
        return None
    found: dict[str, str] = msgspec.json.decode(text)
    return tuple(ApiVipRequestHeader(key=key, value=value) for key, value in found.items())
