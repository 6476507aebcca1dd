# SPDX-License-Identifier: Apache-2.0
"""Hosts and clusters in good order, from which cases take something away."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from muster.model.wire.cluster import ApiVip, ClusterNetwork, IngressVip, MachineNetwork, ServiceNetwork
from muster.model.wire.inventory import (
    Cpu,
    Disk,
    DiskInstallationEligibility,
    Interface,
    Inventory,
    Memory,
    Route,
    SystemVendor,
)
from muster.model.wire.reports import (
    ContainerImageAvailability,
    DiskSpeed,
    DomainResolution,
    NtpSource,
    VerifiedVip,
)
from muster.service.state import Cluster, Host
from muster.service.validations.registry import ClusterView, HostView

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
GIB = 1 << 30


def disk(**values: Any) -> Disk:
    """A disk that can be installed on."""
    plain: dict[str, Any] = {
        "id": "/dev/disk/by-id/wwn-1",
        "name": "sda",
        "path": "/dev/sda",
        "drive_type": "SSD",
        "size_bytes": 200_000_000_000,
        "has_uuid": True,
        "installation_eligibility": DiskInstallationEligibility(eligible=True),
    }
    return Disk(**{**plain, **values})


def interface(name: str = "eth0", *addresses: str) -> Interface:
    """A network card with addresses."""
    return Interface(
        name=name,
        mac_address="52:54:00:00:00:01",
        ipv4_addresses=tuple(each for each in addresses if ":" not in each),
        ipv6_addresses=tuple(each for each in addresses if ":" in each),
    )


def inventory(number: int = 1, **values: Any) -> Inventory:
    """What a good machine is made of."""
    plain: dict[str, Any] = {
        "hostname": f"host-{number}",
        "cpu": Cpu(count=8, architecture="x86_64"),
        "memory": Memory(physical_bytes=32 * GIB, physical_bytes_method="dmidecode"),
        "disks": (disk(),),
        "interfaces": (interface("eth0", f"192.0.2.{10 + number}/24", "fe80::1/64"),),
        "routes": (Route(interface="eth0", gateway="192.0.2.1", destination="0.0.0.0", family=2),),
        "system_vendor": SystemVendor(manufacturer="Example", product_name="Server"),
        "tpm_version": "2.0",
    }
    return Inventory(**{**plain, **values})


def names(**addresses: tuple[str, ...]) -> tuple[DomainResolution, ...]:
    """What the names of the cluster are resolved to."""
    domain = "lab.example.com"
    asked = {
        f"api.{domain}": addresses.get("api", ("192.0.2.5",)),
        f"api-int.{domain}": addresses.get("api_int", ("192.0.2.5",)),
        f"console-openshift-console.apps.{domain}": addresses.get("apps", ("192.0.2.6",)),
        f"validateNoWildcardDNS.{domain}": addresses.get("relative", ()),
        f"validateNoWildcardDNS.{domain}.": addresses.get("wildcard", ()),
    }
    return tuple(DomainResolution(domain_name=name, ipv4_addresses=found) for name, found in asked.items())


def host(number: int = 1, **values: Any) -> Host:
    """A host that is fit in every way."""
    plain: dict[str, Any] = {
        "id": f"host-id-{number}",
        "infra_env_id": "infra",
        "cluster_id": "cluster",
        "number": number,
        "status": "known",
        "status_updated_at": NOW,
        "created_at": NOW,
        "registered_at": NOW,
        "updated_at": NOW,
        "requested_hostname": f"host-{number}",
        "suggested_role": "master",
        "inventory": inventory(number),
        "asked": "e",
        "networks": ("192.0.2.0/24",),
        "groups": ("192.0.2.0/24", "IPv4"),
        "ntp_sources": (NtpSource(source_name="ntp.example.com", source_state="synced"),),
        "clock_offset_s": 0,
        "resolutions": names(),
        "installation_disk_id": "/dev/disk/by-id/wwn-1",
        "installation_disk_path": "/dev/sda",
        "disk_speeds": {"/dev/sda": DiskSpeed(tested=True, exit_code=0, speed_ms=2)},
        "images": (ContainerImageAvailability(name="image", result="success"),),
        "verified_vips": (
            VerifiedVip(vip="192.0.2.5", vip_type="api", verification="succeeded"),
            VerifiedVip(vip="192.0.2.6", vip_type="ingress", verification="succeeded"),
        ),
    }
    return Host(**{**plain, **values})


def cluster(**values: Any) -> Cluster:
    """A cluster that lacks nothing."""
    plain: dict[str, Any] = {
        "id": "cluster",
        "name": "lab",
        "status": "ready",
        "status_updated_at": NOW,
        "created_at": NOW,
        "updated_at": NOW,
        "openshift_version": "4.21.3",
        "base_dns_domain": "example.com",
        "pull_secret": "sealed",
        "cluster_networks": (ClusterNetwork(cidr="10.128.0.0/14", host_prefix=23),),
        "service_networks": (ServiceNetwork(cidr="172.30.0.0/16"),),
        "machine_networks": (MachineNetwork(cidr="192.0.2.0/24"),),
        "api_vips": (ApiVip(ip="192.0.2.5", verification="succeeded"),),
        "ingress_vips": (IngressVip(ip="192.0.2.6", verification="succeeded"),),
    }
    return Cluster(**{**plain, **values})


def host_view(view: HostView | None = None, **values: Any) -> HostView:
    """The first of three good hosts, with other values; `peer` are those of the other hosts."""
    of_cluster = values.pop("cluster", {})
    of_peers: tuple[dict[str, Any], ...] = values.pop("peers_", ({}, {}))
    agent_image = values.pop("agent_image", "")
    one = msgspec.structs.replace(view.host, **values) if view else host(**values)
    others = [host(index, **each) for index, each in enumerate(of_peers, 2)]
    return HostView(
        host=one,
        cluster=None if of_cluster is None else cluster(**of_cluster),
        hosts={each.id: each for each in (one, *others)},
        now=NOW,
        agent_image=agent_image,
    )


def cluster_view(hosts_: tuple[dict[str, Any], ...] = ({}, {}, {}), **values: Any) -> ClusterView:
    """A cluster of three good hosts, with other values."""
    hosts = [host(index, **each) for index, each in enumerate(hosts_, 1)]
    return ClusterView(cluster=cluster(**values), hosts={each.id: each for each in hosts}, now=NOW)
