# SPDX-License-Identifier: Apache-2.0
"""The members of a cluster: what each host is called in it, its role, and its address in each network."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network

from muster.errors import UserError
from muster.model.host import Role
from muster.model.values import IP
from muster.release.node.cluster import Member
from muster.service.drivers.install_config import effective_role
from muster.service.release_driver import ClusterOrder
from muster.service.state import Host


def find_members(order: ClusterOrder) -> list[tuple[Host, Member]]:
    """All hosts as members; the one that sets up what is done once comes first."""
    hosts = sorted(order.hosts, key=lambda host: (not host.bootstrap, host.number, host.id))
    return [(host, _member(host, order)) for host in hosts]


def find_rendezvous(order: ClusterOrder) -> str:
    """Name of the host that the service runs on; empty if it runs on none of the hosts."""
    return next((host_name(host) for host in order.hosts if host.id == order.rendezvous), "")


def host_name(host: Host) -> str:
    """What a host is called in the cluster."""
    return host.requested_hostname or (host.inventory and host.inventory.hostname) or host.id


def _member(host: Host, order: ClusterOrder) -> Member:
    addresses: list[IP] = []
    for network in order.cluster.machine_networks:
        found = _address_in(host, network.cidr or "")
        if found is None:
            raise UserError(
                f"host {host_name(host)} has no address in {network.cidr}",
                hint="mend its network, or the cluster's",
            )
        addresses.append(found)
    role = effective_role(host)
    return Member(host_name(host), tuple(addresses), Role("master" if role == "bootstrap" else role))


def _address_in(host: Host, cidr: str) -> IP | None:
    network = ip_network(cidr)
    for interface in (host.inventory.interfaces or ()) if host.inventory else ():
        for text in (*(interface.ipv4_addresses or ()), *(interface.ipv6_addresses or ())):
            address = ip_interface(text).ip
            if address in network:
                return address
    return None
