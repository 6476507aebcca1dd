# SPDX-License-Identifier: Apache-2.0
"""The validations before any host exists: what they will say of a cluster that a site's files describe.

Files tell what a cluster is to be and some of what its hosts are. What only a running host can tell, whether
an address is free or how much memory there is, is taken to be well, or left open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from muster.config import derive
from muster.frozen import dataclass
from muster.model.nmstate import NMState
from muster.model.plan import HostPlan, Plan, Topology
from muster.model.problem import Place
from muster.model.release import version_of
from muster.model.site import Site, SiteHost
from muster.model.wire.cluster import (
    ApiVip,
    ClusterNetwork,
    IngressVip,
    LoadBalancer,
    MachineNetwork,
    Platform,
    PlatformExternal,
    ServiceNetwork,
)
from muster.model.wire.inventory import Interface, Inventory, Route
from muster.service.state import Cluster, Host, Verdict
from muster.service.validations.addresses import each_address
from muster.service.validations.places import place_of_cluster, place_of_host
from muster.service.validations.registry import HOST, ClusterView, HostView, Of, texts, verdict_of
from muster.service.validations.run import validations

THEN: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""When what the files describe happens: no validation here asks for the time."""
GIVEN: Final = "given"
"""Stands for secrets, of which validations ask only whether they are there."""
OF_NAMES: Final = ("hostname-unique", "hostname-valid")
OF_CARDS: Final = ("non-overlapping-subnets",)
OF_WHOLE_NETWORK: Final = ("belongs-to-machine-cidr", "has-default-route")
"""These need to know all addresses and routes of a host; DHCP may bring what a file does not have."""


@dataclass(frozen=True)
class Finding:
    """What a validation will complain about."""

    of: Of
    subject: str
    """How the host or cluster is called."""
    verdict: Verdict
    place: Place | None
    """Where in the files the cause is."""

    @property
    def id(self) -> str:
        return self.verdict.id

    @property
    def message(self) -> str:
        return self.verdict.message

    @property
    def why(self) -> str:
        found: str = texts()[self.of][self.id]["why"]
        return found

    @property
    def fix(self) -> str:
        found: str = texts()[self.of][self.id]["fix"]
        return found


def judge_site(site: Site, plan: Plan) -> tuple[Finding, ...]:
    """What will stand in the way of an installation, as far as the files tell."""
    cluster, hosts = cluster_of_plan(site, plan), hosts_of_plan(site, plan)
    found: list[Finding] = []
    view = ClusterView(cluster, hosts, THEN)
    for validation in validations("cluster"):
        verdict = verdict_of(validation, validation.check(view), "cluster")
        if verdict.status in ("failure", "error"):
            found.append(Finding("cluster", plan.name, verdict, place_of_cluster(site, validation.id)))
    for described, host in zip(site.hosts, hosts.values(), strict=False):
        seen = HostView(host, cluster, hosts, THEN)
        for id in _answerable(described, host):
            verdict = verdict_of(HOST[id], HOST[id].check(seen), "host")
            if verdict.status in ("failure", "error"):
                found.append(Finding("host", described.label, verdict, place_of_host(site, described, id)))
    return tuple(found)


def _answerable(described: SiteHost, host: Host) -> Iterator[str]:
    if host.requested_hostname:
        yield from OF_NAMES
    if described.network is not None:
        yield from OF_CARDS
        if _says_all(described, described.network):
            yield from OF_WHOLE_NETWORK


def _says_all(described: SiteHost, network: NMState) -> bool:
    """Whether a host gets no address but those in its file."""
    for interface in network.interfaces:
        for settings in (interface.ipv4, interface.ipv6):
            if settings is not None and (settings.dhcp or getattr(settings, "autoconf", False)):
                return False
    known = set(network.mentioned_names())
    return all(card.name in known for card in described.host.interfaces)


def cluster_of_plan(site: Site, plan: Plan) -> Cluster:
    """A cluster as the service will have it."""
    balancer = LoadBalancer(type="user-managed") if derive.vips(site.install).user_managed else None
    return Cluster(
        id=plan.name,
        name=plan.name,
        status="insufficient",
        status_updated_at=THEN,
        created_at=THEN,
        updated_at=THEN,
        openshift_version=version_of(plan.release_image),
        base_dns_domain=plan.base_domain,
        cpu_architecture=architecture_of(plan.architecture),
        control_plane_count=plan.masters,
        platform=platform_of(site, plan),
        load_balancer=balancer,
        user_managed_networking=plan.user_managed_networking or plan.topology is Topology.SINGLE_NODE,
        network_type=plan.networks.type,
        machine_networks=tuple(MachineNetwork(cidr=str(each)) for each in plan.networks.machine),
        cluster_networks=tuple(
            ClusterNetwork(cidr=str(each.cidr), host_prefix=each.host_prefix)
            for each in plan.networks.cluster
        ),
        service_networks=tuple(ServiceNetwork(cidr=str(each)) for each in plan.networks.service),
        api_vips=tuple(ApiVip(ip=str(each), verification="succeeded") for each in plan.api_vips),
        ingress_vips=tuple(IngressVip(ip=str(each), verification="succeeded") for each in plan.ingress_vips),
        pull_secret=GIVEN if plan.pull_secret.reveal() else "",
        manifests=tuple(name for name, _ in plan.extra_manifests),
    )


def architecture_of(name: str) -> str:
    """An architecture as hosts call it, by the name that releases have for it."""
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def platform_of(site: Site, plan: Plan) -> Platform:
    """The platform as the service has it."""
    if plan.platform != "external":
        return Platform(type=plan.platform)  # type: ignore[arg-type]  # the rules for files let no other through
    section = site.install.platform.external if site.install and site.install.platform else None
    name = section.platform_name if section else None
    return Platform(type="external", external=PlatformExternal(platform_name=name or None))


def hosts_of_plan(site: Site, plan: Plan) -> dict[str, Host]:
    """Its hosts: those that the files name, then as many as are still missing, of which nothing is known."""
    named = [_host(index, described, each) for index, (described, each) in enumerate(_pairs(site, plan))]
    wanted = {"master": plan.masters, "arbiter": plan.arbiters, "worker": plan.workers}
    there = Counter(host.role for host in named)
    missing = [role for role, count in wanted.items() for _ in range(count - there[role])]
    fenced = GIVEN if plan.topology is Topology.FENCING else ""
    hosts = [
        *named,
        *(_new_host(len(named) + index, role) for index, role in enumerate(missing)),
    ]
    twins = Counter(host.requested_hostname for host in hosts if host.requested_hostname)
    return {
        host.id: _with(
            host,
            fencing_credentials=fenced,
            twins=_twins(host, hosts) if twins[host.requested_hostname] > 1 else (),
        )
        for host in hosts
    }


def _pairs(site: Site, plan: Plan) -> Iterator[tuple[SiteHost, HostPlan]]:
    yield from zip(site.hosts, plan.hosts, strict=True)


def _twins(host: Host, hosts: list[Host]) -> tuple[str, ...]:
    return tuple(
        each.id for each in hosts if each is not host and each.requested_hostname == host.requested_hostname
    )


def _with(host: Host, **values: Any) -> Host:
    return msgspec.structs.replace(host, **values)


def _host(index: int, described: SiteHost, plan: HostPlan) -> Host:
    inventory = _inventory(described.network) if described.network is not None else None
    networks = dict.fromkeys(address.subnet.text for _, address in each_address(inventory or Inventory()))
    return _with(
        _new_host(index, str(plan.role)),
        requested_hostname=plan.hostname,
        inventory=inventory,
        networks=tuple(networks),
    )


def _new_host(index: int, role: str) -> Host:
    return Host(
        id=f"host {index + 1}",
        infra_env_id="",
        number=index,
        role=role,
        status="known",
        status_updated_at=THEN,
        created_at=THEN,
        registered_at=THEN,
        updated_at=THEN,
    )


def _inventory(network: NMState) -> Inventory:
    """What a host will tell of its network."""
    addresses: dict[str, list[str]] = {}
    for interface, ip, prefix, _ in network.addresses():
        addresses.setdefault(interface.name or "", []).append(str(ip) if prefix is None else f"{ip}/{prefix}")
    return Inventory(
        interfaces=tuple(
            Interface(
                name=name,
                ipv4_addresses=tuple(each for each in found if ":" not in each),
                ipv6_addresses=tuple(each for each in found if ":" in each),
            )
            for name, found in addresses.items()
        ),
        routes=tuple(
            Route(gateway=str(each.address), destination="::" if each.address.version == 6 else "0.0.0.0")  # noqa: S104  # no socket
            for each in network.default_gateways()
            if each.address is not None
        ),
    )
