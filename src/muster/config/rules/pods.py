# SPDX-License-Identifier: Apache-2.0
"""The part of the pod network that each host gets, and whether there is one for every host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config.derive import DEFAULT_HOST_PREFIX, DEFAULT_HOST_PREFIX_V6, host_counts, host_prefix
from muster.config.document import edit
from muster.config.networks import join_subnet, pod_entries, read_networking, uses_ovn
from muster.model.networking import ClusterNetwork, Networking
from muster.model.problem import Place, Problem, problem
from muster.model.site import Site
from muster.model.tree import Node, is_null
from muster.model.values import Network

_LEAST_BITS: Final = 7
"""OVN-Kubernetes needs at least 128 addresses on each host."""
_NOT_FOR_NODES: Final = 3
"""Addresses of a join network that no node can have: network, broadcast and gateway."""


def check_host_prefixes(site: Site) -> Iterator[Problem]:
    """Each host's part fits into the network and is large enough for its pods."""
    networking, _ = read_networking(site)
    ovn = uses_ovn(networking)
    for entry in pod_entries(networking):
        prefix, cidr = host_prefix(entry), entry.cidr
        if cidr is None:
            continue
        if prefix is None:
            if ovn and is_null(entry.places.get("host_prefix")):
                yield _missing(entry, cidr)
        elif cidr.version == 6 and prefix != DEFAULT_HOST_PREFIX_V6:
            yield _not_64(entry, cidr, prefix)
        elif cidr.version == 4 and _longest(cidr, ovn=ovn) >= cidr.prefixlen:
            least, most = cidr.prefixlen, _longest(cidr, ovn=ovn)
            if not least <= prefix <= most:
                yield _out_of_range(entry, prefix, least, most)


def _out_of_range(entry: ClusterNetwork, prefix: int, least: int, most: int) -> Problem:
    right = min(max(least, DEFAULT_HOST_PREFIX), most)
    return problem(
        "host-prefix-range",
        _place(entry),
        value=prefix,
        cidr=entry.cidr,
        least=least,
        most=most,
        right=right,
        addresses=1 << (32 - right),
    )


def _longest(cidr: Network, *, ovn: bool) -> int:
    return cidr.max_prefixlen - (_LEAST_BITS if ovn else 0)


def _missing(entry: ClusterNetwork, cidr: Network) -> Problem:
    right = DEFAULT_HOST_PREFIX if cidr.version == 4 else DEFAULT_HOST_PREFIX_V6
    at = entry.at("cidr")
    edits = edit.add_entry(at, "hostPrefix", str(right)) if cidr.version == 6 else ()
    return problem("missing-host-prefix", Place.of_key(at), cidr=cidr, right=right, edits=edits)


def _not_64(entry: ClusterNetwork, cidr: Network, prefix: int) -> Problem:
    at = entry.places.get("host_prefix")
    edits = edit.replace_scalar(at, "64") if cidr.prefixlen <= 64 else ()
    advice = "" if edits or cidr.prefixlen <= 64 else f", and give {cidr} a prefix that is shorter than /64"
    return problem("host-prefix-v6", _place(entry), value=prefix, advice=advice, edits=edits)


def _place(entry: ClusterNetwork) -> Node:
    return entry.at("host_prefix" if entry.host_prefix is not None else "host_subnet_length")


def check_host_prefixes_equal(site: Site) -> Iterator[Problem]:
    """All IPv4 networks of pods are cut into parts of one size."""
    networking, _ = read_networking(site)
    first: tuple[int, Node] | None = None
    for entry in pod_entries(networking):
        prefix = host_prefix(entry)
        if prefix is None or entry.cidr is None or entry.cidr.version != 4:
            continue
        first = first or (prefix, _place(entry))
        if prefix != first[0]:
            line = Place.of(first[1]).line
            yield problem("host-prefix-unequal", _place(entry), value=prefix, right=first[0], line=line)


def check_room_for_hosts(site: Site) -> Iterator[Problem]:
    """There is a part of the pod network for every host."""
    networking, _ = read_networking(site)
    count = host_counts(site.install).total
    if not uses_ovn(networking):
        return
    for entry in pod_entries(networking):
        prefix, cidr = host_prefix(entry), entry.cidr
        if cidr is None or prefix is None or (cidr.version == 6 and prefix != DEFAULT_HOST_PREFIX_V6):
            continue
        fits = cidr.prefixlen <= prefix <= _longest(cidr, ovn=True)
        if not fits and cidr.prefixlen <= _longest(cidr, ovn=True) and cidr.version == 4:
            continue
        room = 1 << (prefix - cidr.prefixlen) if fits else 0
        if room < count:
            yield _small(entry, room, count)


def _small(entry: ClusterNetwork, room: int, count: int) -> Problem:
    prefix = host_prefix(entry) or 0
    longest = DEFAULT_HOST_PREFIX_V6 if entry.cidr and entry.cidr.version == 6 else 32 - _LEAST_BITS
    right = min(prefix, longest) - (max(count, 1) - 1).bit_length()
    also = f", with a hostPrefix of at most {longest}" if prefix > longest else ""
    at = entry.at("cidr")
    return problem(
        "cluster-network-small",
        at,
        value=entry.cidr,
        room=room,
        prefix=prefix,
        count=count,
        right=right,
        also=also,
    )


def check_join_size(site: Site) -> Iterator[Problem]:
    """Every node that the pod networks have room for gets an address in the join network."""
    networking, _ = read_networking(site)
    for net in join_subnet(networking):
        nodes = _most_nodes(networking)
        usable = net.cidr.num_addresses - _NOT_FOR_NODES
        if net.cidr.version == 4 and nodes is not None and nodes >= usable:
            right = net.cidr.max_prefixlen - (nodes + _NOT_FOR_NODES).bit_length()
            yield problem(
                "join-subnet-small", net.node, value=net.cidr, usable=usable, nodes=nodes, right=right
            )


def _most_nodes(networking: Networking) -> int | None:
    """How many nodes the IPv4 networks of pods have room for; None when they cannot be told."""
    entries = pod_entries(networking)
    if not entries:
        return 1 << (DEFAULT_HOST_PREFIX - 14)
    total = 0
    for entry in entries:
        prefix = host_prefix(entry)
        if entry.cidr is None or prefix is None:
            return None
        if entry.cidr.version == 4:
            total += 1 << min(max(prefix - entry.cidr.prefixlen, 0), entry.cidr.max_prefixlen)
    return total


RULES: Final = (check_host_prefixes, check_host_prefixes_equal, check_room_for_hosts, check_join_size)
