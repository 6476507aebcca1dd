# SPDX-License-Identifier: Apache-2.0
"""Routes and name servers of NMState documents: that packets find their way out, and names an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config import links
from muster.config.document import edit
from muster.config.networks import network_of
from muster.config.rules.documents import documents
from muster.config.rules.machines import ips_of, is_dynamic
from muster.config.spelling import closest, is_typo, near_names
from muster.model.nmstate import Interface, IPv4, NMState, Route
from muster.model.problem import Edit, Place, Problem, problem
from muster.model.schema import Model
from muster.model.site import Site
from muster.model.tree import Map, is_null
from muster.model.values import IP, Network


def check_next_hops(site: Site) -> Iterator[Problem]:
    """Every route leaves through an interface that is there."""
    for document in documents(site):
        network = document.network
        for route in links.lost_next_hops(network):
            if route.next_hop_interface not in document.misspelt:
                yield _lost_next_hop(network, route)
        for route in links.nameless_next_hops(network):
            fits = [name for name, nets in _subnets(network) if _any_holds(nets, route.next_hop_address)]
            edits: tuple[Edit, ...] = ()
            if len(fits) == 1 and route.has("next_hop_address") and not route.has("next_hop_interface"):
                edits = edit.add_entry(route.at("next_hop_address"), "next-hop-interface", str(fits[0]))
            right = f": {fits[0]}" if len(fits) == 1 else f", one of: {', '.join(network.interface_names())}"
            yield problem("route-without-interface", _place(route), right=right, edits=edits)


def _lost_next_hop(network: NMState, route: Route) -> Problem:
    name = route.next_hop_interface or ""
    found = network.find_interface(name)
    names = [each.name for each in network.interfaces if each.name and each.is_up]
    close, right = near_names(name, names), closest(name, names)
    fits = [each for each, nets in _subnets(network) if _any_holds(nets, route.next_hop_address)]
    advice = f"use one of: {', '.join(names)}" if names else "describe the interface too"
    if found is not None:
        what = f"{name}, which is switched off (line {Place.of(found.at('state')).line})"
        advice = f"set state: up for {name}, or {advice}"
    else:
        what = f"{name}, which networkConfig does not have" + (f"; did you mean {right}?" if right else "")
    at = route.at("next_hop_interface")
    certain = found is None and len(close) == 1 and (is_typo(name, close[0]) or fits == close)
    edits = edit.replace_scalar(at, close[0]) if certain else ()
    return problem("unknown-next-hop", at, what=what, advice=advice, edits=edits)


def _place(route: Route) -> Place:
    """The route by its destination, which says which one it is."""
    name = "destination" if route.has("destination") else "next_hop_address"
    return Place.of(route.at(name)) if route.has(name) else Place.of(route.node)


def _subnets(network: NMState) -> Iterator[tuple[str, list[Network]]]:
    for interface in network.interfaces:
        if interface.name and interface.is_up:
            yield interface.name, _networks_of(interface)


def _networks_of(interface: Interface) -> list[Network]:
    settings = [each for each in (interface.ipv4, interface.ipv6) if each and each.enabled]
    return [entry.network for each in settings for entry in each.address if entry.network is not None]


def _any_holds(networks: list[Network], ip: IP | None) -> bool:
    return ip is not None and network_of(ip, networks) is not None


def check_destinations(site: Site) -> Iterator[Problem]:
    """Every route leads somewhere, and a default route to a router."""
    for document in documents(site):
        for route in links.wanted_routes(document.network):
            if is_null(route.places.get("destination")):
                yield problem("route-without-destination", _place(route))
            elif (
                route.is_default
                and route.next_hop_interface
                and is_null(route.places.get("next_hop_address"))
            ):
                yield problem("route-without-gateway", _place(route), name=route.next_hop_interface)


def check_families(site: Site) -> Iterator[Problem]:
    """Network and router of a route are of the same IP version."""
    for document in documents(site):
        for route in links.wanted_routes(document.network):
            to, hop = route.destination, route.next_hop_address
            if to is not None and hop is not None and to.version != hop.version:
                at = route.at("next_hop_address")
                yield problem("route-families", at, value=to, hop=hop, version=f"IPv{to.version}")


def check_gateways(site: Site) -> Iterator[Problem]:
    """Every router is in a network of the interface that leads to it."""
    for document in documents(site):
        for route in links.wanted_routes(document.network):
            ip, name = route.next_hop_address, route.next_hop_interface
            interface = document.network.find_interface(name) if name else None
            if ip is None or interface is None or not interface.is_up or ip.is_link_local:
                continue
            settings = interface.ipv4 if ip.version == 4 else interface.ipv6
            own = [network for network in _networks_of(interface) if network.version == ip.version]
            if not own or _is_automatic(settings) or _any_holds(own, ip):
                continue
            # A host with a network of one address reaches its router without a common network.
            if any(network.prefixlen == network.max_prefixlen for network in own):
                continue
            at = route.at("next_hop_address")
            yield problem("gateway-outside", at, value=ip, name=name, networks=", ".join(map(str, own)))


def _is_automatic(settings: IPv4 | None) -> bool:
    return settings is not None and bool(settings.dhcp or getattr(settings, "autoconf", None))


def check_default_route(site: Site) -> Iterator[Problem]:
    """A host with static addresses knows the way out of its network."""
    for document in documents(site):
        host, network = document.host, document.network
        if host is None or not host.keyfiles or not ips_of(host) or is_dynamic(host):
            continue
        if any(route.destination is None or route.is_default for route in links.wanted_routes(network)):
            continue
        if network.routes is not None and _has_running(network.routes):
            continue
        far = [server for server in _servers(network) if not _is_near(network, server)]
        consequence = f"; its name server {far[0]} cannot be reached" if far else ""
        node = network.routes.node if network.routes else network.node
        yield problem("no-default-route", Place.of_key(node), host=host.label, consequence=consequence)


def _servers(network: NMState) -> list[IP]:
    found = [links.server_ip(server) for server in network.name_servers()]
    return [ip for ip in found if ip is not None]


def _is_near(network: NMState, ip: IP) -> bool:
    routed = [route.destination for route in links.wanted_routes(network) if route.destination is not None]
    return any(_any_holds(own, ip) for _, own in _subnets(network)) or _any_holds(routed, ip)


def check_metrics(site: Site) -> Iterator[Problem]:
    """One of several default routes is preferred."""
    for document in documents(site):
        first: dict[tuple[int, int], Route] = {}
        for route in links.wanted_routes(document.network):
            if not route.is_default or route.destination is None:
                continue
            metric = route.metric if route.metric is not None and route.metric > 0 else 0
            before = first.setdefault((route.destination.version, metric), route)
            if before is not route and _leads_elsewhere(before, route):
                shown = f"metric {metric}" if metric else "no metric"
                yield problem("same-metric", _place(route), shown=shown, line=_place(before).line)


def _leads_elsewhere(one: Route, other: Route) -> bool:
    hop = (one.next_hop_address, one.next_hop_interface)
    return hop != (other.next_hop_address, other.next_hop_interface)


def check_servers(site: Site) -> Iterator[Problem]:
    """Name servers are given by address."""
    for document in documents(site):
        for server, node in links.odd_name_servers(document.network):
            yield problem("name-server-not-ip", node, value=server)


def check_running(site: Site) -> Iterator[Problem]:
    """Settings stand under config; running only shows what nmstate found."""
    for document in documents(site):
        for section in (document.network.routes, document.network.dns_resolver):
            yield from _running(section)


def _has_running(section: Model) -> bool:
    return isinstance(section.node, Map) and section.node.get("running") is not None


def _running(section: Model | None) -> Iterator[Problem]:
    node = section.node if section is not None else None
    found = node.get("running") if isinstance(node, Map) else None
    if found is None or not isinstance(node, Map) or node.key is None:
        return
    edits = edit.rename_key(found, "config") if "config" not in node.items else ()
    yield problem("running-ignored", Place.of_key(found), section=node.key.text, edits=edits)


RULES: Final = (
    check_next_hops,
    check_destinations,
    check_families,
    check_gateways,
    check_default_route,
    check_metrics,
    check_servers,
    check_running,
)
