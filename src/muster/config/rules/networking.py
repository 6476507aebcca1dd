# SPDX-License-Identifier: Apache-2.0
"""The networks of a cluster: plugin, overlaps, sizes. Families and host prefixes have files of their own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from muster.config.derive import (
    DEFAULT_NETWORK_TYPE,
    cluster_networks,
    host_counts,
    service_networks,
    settled_machine_networks,
    vips,
)
from muster.config.document import edit
from muster.config.networks import (
    FIELDS,
    JOIN,
    OVN_INTERNAL,
    Net,
    join_subnet,
    lists_of,
    nets_of,
    network_of,
    plugin_node,
    plugin_of,
    read_networking,
    uses_ovn,
)
from muster.config.rules import families, pods
from muster.config.spelling import closest
from muster.model.problem import Place, Problem, problem
from muster.model.schema import Items
from muster.model.site import Site
from muster.model.tree import Sequence
from muster.model.values import Network

_MOVE: Final = "ovnKubernetesConfig.ipv4.internalJoinSubnet"
_REMOVED: Final = ("openshiftsdn", "kuryr")
"""Plugins that new clusters cannot have since release 4.15."""
_SERVICE_BITS: Final = {4: (12, 25, 16), 6: (108, 121, 112)}
"""Shortest, longest and usual prefix of a service network: at most 2^20 addresses, and at least 128."""


def check_network_type(site: Site) -> Iterator[Problem]:
    """The plugin is one that the release has, or somebody brings it along."""
    networking, _ = read_networking(site)
    at, plugin = plugin_node(networking), plugin_of(networking)
    if plugin == DEFAULT_NETWORK_TYPE:
        return
    if uses_ovn(networking):
        edits = edit.replace_scalar(at, DEFAULT_NETWORK_TYPE)
        yield problem("network-type-spelling", at, value=plugin, right=DEFAULT_NETWORK_TYPE, edits=edits)
    elif site.image_based is not None:
        return  # A rule of its own allows only one plugin there.
    elif plugin.lower() in _REMOVED:
        yield problem("removed-network-type", at, value=plugin, right=DEFAULT_NETWORK_TYPE)
    elif meant := closest(plugin, [DEFAULT_NETWORK_TYPE]) or not site.extra_manifests:
        hint = f"; did you mean {meant}?" if isinstance(meant, str) else ""
        yield problem("third-party-network-type", at, value=plugin, hint=hint, right=DEFAULT_NETWORK_TYPE)


def check_empty_lists(site: Site) -> Iterator[Problem]:
    """A list of networks that is written says something."""
    networking, _ = read_networking(site)
    derived = (settled_machine_networks(site), service_networks(networking), cluster_networks(networking))
    for (field, current, _), networks in zip(FIELDS, derived, strict=True):
        node = networking.places.get(current)
        if networks and isinstance(node, Sequence) and not node.items:
            yield problem("empty-network-list", Place.of_key(node), key=field, value=networks[0])


def check_overlaps(site: Site) -> Iterator[Problem]:
    """No two networks of a cluster share addresses."""
    for one, other in combinations(_usable_nets(site), 2):
        if not one.cidr.overlaps(other.cidr):
            continue
        mine, theirs = (one, other) if other.is_default else (other, one)
        if not mine.is_default:
            yield problem("networks-overlap", mine.node, field=mine.field, value=mine.cidr, other=theirs)


def _usable_nets(site: Site) -> list[Net]:
    """All networks that can be compared with others: 0.0.0.0/0 would overlap with everything."""
    networking, readable = read_networking(site)
    nets = [*nets_of(site), *join_subnet(networking)] if readable else []
    return [net for net in nets if not _network_fault(net.cidr)]


def check_ovn_internal(site: Site) -> Iterator[Problem]:
    """Nothing uses the addresses that OVN-Kubernetes uses inside itself."""
    networking, _ = read_networking(site)
    if not uses_ovn(networking):
        return
    moved = any(join_subnet(networking))
    for net in _usable_nets(site):
        for what, internal in OVN_INTERNAL:
            movable = what == JOIN and internal.version == 4
            if net.is_default or (movable and moved) or not net.cidr.overlaps(internal):
                continue
            advice = f", or move the internal one with networking.{_MOVE}" if movable else ""
            kind = f"{what} network {internal}"
            yield problem(
                "ovn-internal-overlap", net.node, field=net.field, value=net.cidr, kind=kind, advice=advice
            )


def check_usable(site: Site) -> Iterator[Problem]:
    """Hosts, services and pods can have addresses of their networks."""
    networking, _ = read_networking(site)
    for net in [*nets_of(site), *join_subnet(networking)]:
        fault = _network_fault(net.cidr)
        if fault:
            yield problem("unusable-network", net.node, field=net.field, value=net.cidr, reason=fault)


def _network_fault(cidr: Network) -> str:
    """Why nothing can have an address of a network, or nothing when it can."""
    if cidr.network_address.is_unspecified:
        return f"it starts at {cidr.network_address}, which stands for no address"
    if cidr.is_multicast:
        return "it is for multicast"
    return "every host has it for itself" if cidr.is_loopback else ""


def check_service_size(site: Site) -> Iterator[Problem]:
    """A service network is as large as Kubernetes can handle, and as a cluster needs."""
    services = lists_of(site).get("serviceNetwork", Items())
    for cidr, node in services.located():
        least, most, right = _SERVICE_BITS[cidr.version]
        if not _network_fault(cidr) and not least <= cidr.prefixlen <= most:
            what = "large" if cidr.prefixlen < least else "small"
            yield problem(
                "service-network-size", node, value=cidr, what=what, least=least, most=most, right=right
            )


def check_machine_size(site: Site) -> Iterator[Problem]:
    """The hosts' network has an address for each host and each VIP."""
    networks = lists_of(site).get("machineNetwork", Items())
    counts, given = host_counts(site.install), vips(site.install)
    for version in (4, 6):
        nets = [net for net in networks if net.version == version]
        usable = sum(net.num_addresses - (2 if net.prefixlen < net.max_prefixlen - 1 else 0) for net in nets)
        inside = {ip for ip in (*given.api, *given.ingress) if network_of(ip, nets)}
        if nets and usable < counts.total + len(inside):
            node = next(place for net, place in networks.located() if net.version == version)
            shown = ", ".join(str(net) for net in nets)
            yield problem(
                "machine-network-small",
                node,
                value=shown,
                usable=usable,
                hosts=counts.total,
                vips=len(inside),
            )


def check_ovn_config(site: Site) -> Iterator[Problem]:
    """Settings of OVN-Kubernetes belong to that plugin, and its join network is one of IPv4."""
    networking, readable = read_networking(site)
    if not readable or networking.ovn_kubernetes_config is None:
        return
    if not uses_ovn(networking):
        at = Place.of_key(networking.at("ovn_kubernetes_config"))
        yield problem("ovn-config-without-ovn", at, value=plugin_of(networking))
    for net in join_subnet(networking):
        if net.cidr.version != 4:
            yield problem("join-subnet-family", net.node, value=net.cidr)


RULES: Final = (
    check_network_type,
    check_empty_lists,
    check_overlaps,
    check_ovn_internal,
    check_usable,
    check_service_size,
    check_machine_size,
    check_ovn_config,
    *pods.RULES,
    *families.RULES,
)
