# SPDX-License-Identifier: Apache-2.0
"""A cluster of a kubernetes release as its nodes have to know it, and what follows for each of them."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from muster.frozen import dataclass
from muster.model.host import Role
from muster.model.meeting import url_host
from muster.model.plan import PodNetwork
from muster.model.ports import API_PORT
from muster.model.registries import RegistriesConf
from muster.model.values import IP, Network, Secret

LOCAL: Final = f"https://127.0.0.1:{API_PORT}"
"""A control-plane host asks its own API: it is there when those of others are not."""
_DNS: Final = 10
"""Which address of the network of services the cluster's name server has."""


@dataclass(frozen=True)
class Member:
    """A host of the cluster."""

    name: str
    addresses: tuple[IP, ...]
    """One of each family that the cluster has, in the same order."""
    role: Role


@dataclass(frozen=True)
class Cluster:
    """All that its nodes have in common. Hosts that join later come last: the order counts."""

    name: str
    base_domain: str
    id: str
    members: tuple[Member, ...]
    pods: tuple[PodNetwork, ...]
    services: tuple[Network, ...]
    api_vips: tuple[IP, ...] = ()
    ingress_vips: tuple[IP, ...] = ()
    holds_vips: bool = False
    """Whether its own hosts hold the virtual addresses; else a load balancer of the user's has them."""
    registries: RegistriesConf = field(default_factory=RegistriesConf)
    trust_bundle: str = field(default="", repr=False)
    """Authorities of the registries, as PEM."""
    pull_secret: Secret | None = None
    tuning: str = "default"
    """A profile of tuning.toml."""
    add_ons: tuple[str, ...] = ()
    """Ids of those of the release that the cluster gets."""
    manifests: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The user's own, by file name."""
    dns_domain: str = "cluster.local"
    machines: tuple[Network, ...] = ()
    """The networks that its hosts are in."""
    time_servers: tuple[str, ...] = ()
    """Those of the site; without any the hosts agree among themselves."""
    rendezvous: str = ""
    """Name of the host that runs the service until the cluster is complete; empty if no host does."""

    @property
    def domain(self) -> str:
        """Domain of the names that the cluster has outside of itself."""
        return f"{self.name}.{self.base_domain}"

    @cached_property
    def control_plane(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.role is Role.MASTER)

    @cached_property
    def voters(self) -> tuple[Member, ...]:
        """The members of etcd, all of them from the beginning."""
        return tuple(member for member in self.members if member.role is not Role.WORKER)

    @property
    def first(self) -> Member:
        """The host that sets up what is done once for the whole cluster."""
        return self.control_plane[0]

    @property
    def has_workers(self) -> bool:
        return any(member.role is Role.WORKER for member in self.members)

    @property
    def schedulable(self) -> tuple[Member, ...]:
        """The hosts that run what users run: the workers, or the control plane where there are none."""
        workers = tuple(member for member in self.members if member.role is Role.WORKER)
        return workers or self.control_plane

    @property
    def dns_addresses(self) -> tuple[IP, ...]:
        """Where pods find the cluster's name server."""
        return tuple(network[_DNS] for network in self.services)

    @property
    def names(self) -> tuple[str, ...]:
        """What the API is called by clients outside of the cluster."""
        return (f"api.{self.domain}", f"api-int.{self.domain}")

    def server_for(self, host: Member) -> str:
        """Where a host reaches the API: at itself if it can, else at an address rather than by a name."""
        if host.role is Role.MASTER:
            return LOCAL
        if self.api_vips:
            return f"https://{url_host(self.api_vips[0])}:{API_PORT}"
        if len(self.control_plane) == 1:
            return f"https://{url_host(self.first.addresses[0])}:{API_PORT}"
        return f"https://api-int.{self.domain}:{API_PORT}"

    def pod_subnets(self, host: Member) -> tuple[Network, ...]:
        """The part of each network of pods that a host's own pods get their addresses from."""
        return self._subnets[host.name]

    @cached_property
    def _subnets(self) -> dict[str, tuple[Network, ...]]:
        """By host. Every host is told of those of all others, so they are found once."""
        return {
            member.name: tuple(_subnet(network, number) for network in self.pods)
            for number, member in enumerate(self.members)
        }

    @cached_property
    def routes(self) -> tuple[tuple[str, str], ...]:
        """The name of each host, and lines for `ip -batch` that lead to its pods."""
        return tuple((member.name, self._route_to(member)) for member in self.members)

    def _route_to(self, member: Member) -> str:
        return "".join(
            f"route replace {subnet} via {address}\n"
            for address, subnet in zip(member.addresses, self.pod_subnets(member), strict=True)
        )


def room(network: PodNetwork) -> int:
    """How many hosts can get a part of a network of pods."""
    bits = network.host_prefix - network.cidr.prefixlen
    return 1 << bits if bits >= 0 else 0


def _subnet(network: PodNetwork, number: int) -> Network:
    size = 1 << (network.cidr.max_prefixlen - network.host_prefix)
    start = int(network.cidr.network_address) + number * size
    if isinstance(network.cidr, IPv4Network):
        return IPv4Network((start, network.host_prefix))
    return IPv6Network((start, network.host_prefix))
