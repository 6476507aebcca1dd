# SPDX-License-Identifier: Apache-2.0
"""Static addresses: that each is used once, fits its network, and can be reached by the other hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config import derive
from muster.config.links import server_ip
from muster.config.networks import (
    MASQUERADE,
    MASQUERADE_USED,
    edge_of,
    inner_networks,
    known_machine_networks,
    network_of,
    network_words,
)
from muster.config.rules.machines import HostIP, host_ips, ips_of, is_agent_based, is_dynamic
from muster.model.nmstate import InterfaceType
from muster.model.problem import Place, Problem, problem
from muster.model.schema import Items
from muster.model.site import Site, SiteHost
from muster.model.tree import Node
from muster.model.values import IP, Network


def check_unique(site: Site) -> Iterator[Problem]:
    """No two hosts have the same address."""
    first: dict[IP, HostIP] = {}
    for found in host_ips(site):
        before = first.setdefault(found.ip, found)
        if before is not found and before.node is not found.node:
            owner = "the same host" if before.host is found.host else before.host.label
            yield problem(
                "duplicate-address", found.node, value=found.ip, owner=owner, line=Place.of(before.node).line
            )


def check_vips(site: Site) -> Iterator[Problem]:
    """Virtual addresses are no addresses of hosts or gateways."""
    if not is_agent_based(site):
        return
    taken: dict[IP, tuple[str, Node]] = {}
    vips = derive.vips(site.install)
    for name, addresses in (("apiVIPs", vips.api), ("ingressVIPs", vips.ingress)):
        for ip, node in addresses.located():
            taken.setdefault(ip, (name, node))
    for found in host_ips(site):
        if found.ip in taken:
            name, node = taken[found.ip]
            where = f"line {Place.of(node).line} of {node.source.name}"
            host = found.host.label
            yield problem("address-is-vip", found.node, value=found.ip, host=host, name=name, where=where)
    gateways = _gateways(site)
    for ip, (name, node) in taken.items():
        if ip in gateways:
            user, at = gateways[ip]
            where = f"line {Place.of(at).line} of {at.source.name}"
            yield problem("vip-is-gateway", node, value=ip, name=name, host=user.label, where=where)


def _gateways(site: Site) -> dict[IP, tuple[SiteHost, Node]]:
    """The default gateways of all hosts, each with the first host that uses it."""
    found: dict[IP, tuple[SiteHost, Node]] = {}
    for host in site.hosts:
        for gateway in host.network.default_gateways() if host.network else ():
            if gateway.address is not None:
                found.setdefault(gateway.address, (host, gateway.node))
    return found


def check_gateways(site: Site) -> Iterator[Problem]:
    """No host has the address of a gateway."""
    gateways = _gateways(site)
    for found in host_ips(site):
        if found.ip in gateways:
            host, at = gateways[found.ip]
            whose = "its own gateway" if host is found.host else f"the gateway of {host.label}"
            yield problem(
                "address-is-gateway", found.node, value=found.ip, whose=whose, line=Place.of(at).line
            )


def check_name_servers(site: Site) -> Iterator[Problem]:
    """Name servers answer before the cluster is there."""
    if not is_agent_based(site):
        return
    owners: dict[IP, str] = {found.ip: f"the address of {found.host.label}" for found in host_ips(site)}
    vips = derive.vips(site.install)
    owners |= {ip: "a virtual address of the cluster" for ip in (*vips.api, *vips.ingress)}
    seen: set[IP] = set()
    for host in site.hosts:
        for server, node in host.network.name_servers().located() if host.network else ():
            ip = server_ip(server)
            if ip is not None and ip in owners and ip not in seen:
                seen.add(ip)
                yield problem("name-server-is-host", node, value=ip, owner=owners[ip])


def check_machine_network(site: Site) -> Iterator[Problem]:
    """Every host with static addresses has one in a machine network of each IP version."""
    networks = known_machine_networks(site)
    if networks is None or not is_agent_based(site):
        return
    for host in site.hosts:
        if ips_of(host) and not _has_more_when_up(host):
            yield from check_host(host, networks)


def _has_more_when_up(host: SiteHost) -> bool:
    """Whether addresses of a host are left out because an interface is off, which is reported as such."""
    interfaces = host.network.interfaces if host.network else ()
    off = [interface for interface in interfaces if not interface.is_up]
    return any(part and part.address for interface in off for part in (interface.ipv4, interface.ipv6))


def check_host(host: SiteHost, networks: Items[Network]) -> Iterator[Problem]:
    """A host has an address in a network of each IP version, unless it may get one there."""
    versions = {network.version for network in networks}
    ips = ips_of(host)
    inside = [found for found in ips if network_of(found.ip, networks)]
    usable = [found for found in ips if found.ip.version in versions]
    if not inside and any(is_dynamic(host, version) for version in versions):
        return
    if not inside and not usable:
        yield _wrong_family(ips[0], network_words(networks))
    elif not inside:
        at, words = usable[0], network_words(networks)
        yield problem("address-outside-networks", at.node, value=at.ip, host=host.label, networks=words)
    elif len(versions) == 2 and len({found.ip.version for found in inside}) == 1:
        at = inside[0]
        other = 10 - at.ip.version
        if is_dynamic(host, other):
            return
        words = ", ".join(str(network) for network in networks if network.version == other)
        yield problem(
            "family-missing", at.node, host=host.label, missing=f"IPv{other}", networks=words, value=at.ip
        )


def _wrong_family(found: HostIP, words: str) -> Problem:
    return problem(
        "wrong-family",
        found.node,
        value=found.ip,
        host=found.host.label,
        networks=words,
        has=f"IPv{found.ip.version}",
        missing=f"IPv{10 - found.ip.version}",
    )


def check_prefix(site: Site) -> Iterator[Problem]:
    """Hosts and machineNetwork agree on the size of the network."""
    networks = known_machine_networks(site)
    if networks is None or derive.is_default(networks) or not is_agent_based(site):
        return
    alike: dict[tuple[Network, int], list[HostIP]] = {}
    for found in host_ips(site):
        network, length = network_of(found.ip, networks), found.entry.prefix_length
        if network is None or length is None or found.network is None:
            continue
        if length in (network.prefixlen, network.max_prefixlen):
            continue
        alike.setdefault((network, length), []).append(found)
    for (network, length), group in alike.items():
        at = networks.nodes[networks.index(network)]
        yield problem(
            "prefix-disagrees",
            group[0].entry.at("prefix_length"),
            value=length,
            host=group[0].host.label,
            more=f" (and {len(group) - 1} more)" if len(group) > 1 else "",
            network=network,
            right=network.prefixlen,
            own=group[0].network,
            where=f"line {Place.of(at).line} of {at.source.name}",
        )


def check_lonely(site: Site) -> Iterator[Problem]:
    """Interfaces of the same name are in the same network on all hosts."""
    machine = known_machine_networks(site) or Items[Network]()
    groups: dict[tuple[str, int], dict[Network, list[HostIP]]] = {}
    for found in host_ips(site):
        network = found.network
        if network is None or network.num_addresses == 1 or network_of(found.ip, machine):
            continue
        key = (found.interface.name or "", found.ip.version)
        groups.setdefault(key, {}).setdefault(network, []).append(found)
    for (name, _), by_network in groups.items():
        common = max(by_network, key=lambda network: len(by_network[network]))
        others = [network for network in by_network if network != common]
        hosts = {found.host.index for group in by_network.values() for found in group}
        if len(others) != 1 or len(hosts) < 3 or len(by_network[others[0]]) != 1:
            continue
        odd = by_network[others[0]][0]
        if is_outside_reported(odd.host, machine):
            continue
        yield problem("lonely-network", odd.node, value=odd.ip, network=others[0], common=common, name=name)


def is_outside_reported(host: SiteHost, networks: Items[Network]) -> bool:
    """Whether a host is in no machine network, which is reported as such."""
    return bool(networks) and not any(network_of(found.ip, networks) for found in ips_of(host))


def check_subnets(site: Site) -> Iterator[Problem]:
    """A host is in each network with one interface only."""
    for host in site.hosts:
        first: dict[Network, HostIP] = {}
        for found in ips_of(host):
            network = found.network
            if network is None or found.ip.is_link_local or network.num_addresses == 1:
                continue
            before = first.setdefault(network, found)
            if before.interface is not found.interface:
                yield problem(
                    "same-subnet-twice",
                    found.node,
                    name=found.interface.name,
                    network=network,
                    other=before.interface.name,
                    line=Place.of(before.node).line,
                )


def check_usable(site: Site) -> Iterator[Problem]:
    """Addresses can be addresses of a host."""
    for host in site.hosts:
        ips = ips_of(host)
        routable = [found for found in ips if not found.ip.is_link_local]
        for found in ips:
            what = _fault(found, only_link_local=not routable)
            if what:
                yield problem("unusable-address", found.node, value=found.ip, what=what)
            elif found.network and (edge := edge_of(found.ip, found.network)):
                yield problem("network-address", found.node, value=found.ip, network=found.network, edge=edge)


def _fault(found: HostIP, *, only_link_local: bool) -> str:
    ip = found.ip
    if ip.is_unspecified:
        return "means no address at all"
    if ip.is_multicast:
        return "is a multicast address"
    if ip.is_loopback:
        return (
            "" if found.interface.type is InterfaceType.LOOPBACK else "is reachable only from the host itself"
        )
    if ip.version == 4 and ip.is_reserved:
        return "is in a range that is reserved"
    if ip.is_link_local and only_link_local:
        return "is valid on one link only, and the host has no other address"
    return ""


def check_cluster_networks(site: Site) -> Iterator[Problem]:
    """The networks of hosts are none of those that exist only inside the cluster."""
    machine = known_machine_networks(site)
    if machine is None or not is_agent_based(site):
        return
    for found in host_ips(site):
        network = found.network
        if network is None or network.prefixlen == 0 or network_of(found.ip, machine):
            continue
        if is_outside_reported(found.host, machine):
            continue
        for inner in inner_networks(site):
            if not network.overlaps(inner.cidr):
                continue
            if inner.cidr == MASQUERADE and _is_free_link_local(found.ip):
                yield problem("link-local-overlap", found.node, value=found.ip, own=network)
            else:
                yield problem(
                    "address-in-cluster-network",
                    found.node,
                    value=found.ip,
                    own=network,
                    name=inner.name,
                    network=inner.cidr,
                    choice=inner.choice,
                )


def _is_free_link_local(ip: IP) -> bool:
    """Whether an address for one link is none of those that OVN-Kubernetes has itself."""
    return ip.is_link_local and ip not in MASQUERADE_USED


RULES: Final = (
    check_unique,
    check_vips,
    check_gateways,
    check_name_servers,
    check_machine_network,
    check_prefix,
    check_lonely,
    check_subnets,
    check_usable,
    check_cluster_networks,
)
