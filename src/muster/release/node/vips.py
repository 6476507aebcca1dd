# SPDX-License-Identifier: Apache-2.0
"""The virtual addresses of a cluster: keepalived has each of them on one of the hosts that may hold it.

The API's are held by a control-plane host whose own API is ready, and by nobody while there is none. Those of
ingress are always held by one of the hosts that run what users run, so that nobody else takes them: by one on
which somebody takes requests, if there is one. Hosts tell each other by unicast who holds an address.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from muster.frozen import dataclass
from muster.model.ignition import PUBLIC, Config, File, Unit
from muster.model.meeting import url_host
from muster.model.values import IP
from muster.release.node.certificates import HOME
from muster.release.node.cluster import LOCAL, Cluster, Member
from muster.release.node.templates import fill, load_template, program
from muster.release.node.tuning import VipTuning

_UNIT: Final = "muster-vips.service"
_PROGRAMS: Final = ("vips", "api-ready", "ingress-listens")
_HIGHEST: Final = 200
_EQUAL: Final = 100
_LISTENING: Final = 50
"""What a host has ahead of others when ingress takes requests on it."""
_MOST_HOPS: Final = 255
"""A packet that has this TTL comes from the same link."""
_PAIRS: Final = 127
"""VRRP knows an address by a number from 1 to 255; a cluster has two of them."""


@dataclass(frozen=True)
class _Kind:
    """What virtual addresses stand for, as one of the hosts that may hold them sees it."""

    name: str
    vips: tuple[IP, ...]
    holders: tuple[Member, ...]
    router: int
    priority: int
    check: str
    """Whether this host is fit to hold them, for keepalived to run."""
    preempt: str = ""
    weight: str = ""


def vips(cluster: Cluster, host: Member, tuning: VipTuning) -> Config:
    """Nothing on a host that holds none."""
    kinds = [kind for kind in _kinds(cluster, host, tuning) if kind.vips and host in kind.holders]
    if not cluster.holds_vips or not kinds:
        return Config()
    parts = "".join(text for kind in kinds for text in _render(kind, host, tuning)).rstrip("\n")
    conf = fill(load_template("keepalived.conf"), {"name": host.name, "parts": parts})
    programs = (program(name) for name in _PROGRAMS)
    return Config(
        (File(f"{HOME}/keepalived.conf", conf.encode(), PUBLIC), *programs),
        (Unit(_UNIT, load_template(f"units/{_UNIT}")),),
    )


def router_ids(cluster_id: str) -> tuple[int, int]:
    """The numbers for the API and for ingress; those of another cluster are most likely others."""
    number = int.from_bytes(hashlib.sha256(cluster_id.encode()).digest(), "big") % _PAIRS
    return 2 * number + 1, 2 * number + 2


def vip_peers(cluster: Cluster, host: Member) -> tuple[IP, ...]:
    """The addresses of the hosts that a host shares virtual addresses with."""
    groups = ((cluster.api_vips, cluster.control_plane), (cluster.ingress_vips, cluster.schedulable))
    shared = [(vips, holders) for vips, holders in groups if cluster.holds_vips and host in holders]
    found = [
        _address(member, vip.version)
        for vips, holders in shared
        for vip in vips
        for member in holders
        if member != host
    ]
    return tuple(dict.fromkeys(found))


def _kinds(cluster: Cluster, host: Member, tuning: VipTuning) -> Iterator[_Kind]:
    of_api, of_ingress = router_ids(cluster.id)
    patience = max(1, tuning.check_s - 1)
    rank = cluster.control_plane.index(host) if host in cluster.control_plane else 0
    yield _Kind(
        "api",
        cluster.api_vips,
        cluster.control_plane,
        of_api,
        _HIGHEST - rank,
        f"/usr/local/bin/muster-api-ready {LOCAL} {patience}",
        # Who comes back does not take it from who has it: each move breaks connections.
        preempt="nopreempt",
    )
    yield _Kind(
        "ingress",
        cluster.ingress_vips,
        cluster.schedulable,
        of_ingress,
        # Hosts of the same worth leave it where it is; one that is worth more takes it at once.
        _EQUAL,
        f"/usr/local/bin/muster-ingress-listens {url_host(host.addresses[0])} {max(1, patience // 2)}",
        weight=f"weight {_LISTENING}",
    )


def _render(kind: _Kind, host: Member, tuning: VipTuning) -> Iterator[str]:
    values = {
        "kind": kind.name,
        "check": kind.check,
        "check_s": str(tuning.check_s),
        "fall": str(tuning.fall),
        "weight": kind.weight,
        "router": str(kind.router),
        "priority": str(kind.priority),
        "preempt": kind.preempt,
        "advert_s": str(tuning.advert_s),
    }
    yield fill(load_template("keepalived-check.conf"), values)
    for vip in kind.vips:
        own = {member.name: _address(member, vip.version) for member in kind.holders}
        address = own.pop(host.name)
        more = {
            "family": str(vip.version),
            "address": str(address),
            "unicast": _unicast(address, tuple(own.values())),
            # The host's own address leads into the network; this one is never what it sends from.
            "vip": f"{vip}/{vip.max_prefixlen}",
        }
        yield fill(load_template("keepalived-address.conf"), {**values, **more})


def _unicast(address: IP, peers: tuple[IP, ...]) -> str:
    """VRRP cannot prove who sends it: only the peers are heard, and nothing that a router forwarded."""
    if not peers:
        return ""
    lines = "".join(f"        {peer} min_ttl {_MOST_HOPS}\n" for peer in peers)
    return f"unicast_src_ip {address}\n    unicast_ttl {_MOST_HOPS}\n    unicast_peer {{\n{lines}    }}"


def _address(member: Member, version: int) -> IP:
    return next(address for address in member.addresses if address.version == version)
