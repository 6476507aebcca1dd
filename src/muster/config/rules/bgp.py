# SPDX-License-Identifier: Apache-2.0
"""Virtual addresses that are announced with BGP: the routers, and how hosts talk to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from muster.config.networks import plugin_of, read_networking, uses_ovn
from muster.config.rules.machines import platform_section
from muster.model.platform.baremetal import BareMetalPlatform
from muster.model.platform.bgp import BGPPeer
from muster.model.problem import Place, Problem, problem
from muster.model.schema import Items
from muster.model.site import Site
from muster.model.tree import Node, Sequence, is_null

_MOST_PEERS: Final = 16
_MOST_SECONDS: Final = 65535
_COMMUNITY: Final = re.compile(r"[0-9]+:[0-9]+(?::[0-9]+)?\Z")
_PART: Final = r"([0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(h|ms|m|s)"
_DURATION: Final = re.compile(rf"(?:{_PART})+\Z")
_SECONDS: Final = {"h": Fraction(3600), "m": Fraction(60), "s": Fraction(1), "ms": Fraction(1, 1000)}


def check_bgp(site: Site) -> Iterator[Problem]:
    """BGP comes with the network plugin that speaks it, and communities have the form that routers know."""
    platform = platform_section(site, BareMetalPlatform)
    config = platform.bgp_vip_config if platform else None
    if platform is None or config is None:
        return
    networking, _ = read_networking(site)
    if not uses_ovn(networking):
        at = Place.of_key(platform.at("bgp_vip_config"))
        yield problem("bgp-network-type", at, value=plugin_of(networking))
    for community, node in config.communities.located():
        if not _COMMUNITY.match(community):
            yield problem("bgp-community", node, value=community)


def check_peers(site: Site) -> Iterator[Problem]:
    """There are routers, not too many of them, and those of a host only where BGP is used."""
    platform = platform_section(site, BareMetalPlatform)
    if platform is None:
        return
    config = platform.bgp_vip_config
    if config is not None:
        node = config.places.get("peers")
        if isinstance(node, Sequence) and not config.is_unread("peers"):
            yield from _check_peers(config.peers, node, least=1)
    for host in platform.hosts:
        if not host.bgp_peers:
            continue
        at = host.at("bgp_peers")
        if is_null(platform.places.get("bgp_vip_config")):
            yield problem("bgp-host-peers", Place.of_key(at))
        else:
            yield from _check_peers(host.bgp_peers, at, least=0)


def _check_peers(peers: Items[BGPPeer], node: Node, *, least: int) -> Iterator[Problem]:
    if not least <= len(peers) <= _MOST_PEERS:
        key = node.key.text if node.key else "peers"
        yield problem("bgp-peers", Place.of_key(node), key=key, count=len(peers), most=_MOST_PEERS)
    for peer in peers:
        yield from _check_timers(peer)


def _check_timers(peer: BGPPeer) -> Iterator[Problem]:
    timers = {
        "holdTime": ("hold_time", peer.hold_time),
        "keepaliveTime": ("keepalive_time", peer.keepalive_time),
    }
    given = [key for key, (_, text) in timers.items() if text]
    if len(given) == 1 and not any(peer.is_unread(name) for name, _ in timers.values()):
        at = peer.at(timers[given[0]][0])
        other = next(key for key in timers if key not in given)
        yield problem(
            "bgp-timer", at, key=given[0], value=timers[given[0]][1], what=f"needs {other} beside it"
        )
    for key, (name, text) in timers.items():
        fault = _duration_fault(text) if text else ""
        if fault:
            yield problem("bgp-timer", peer.at(name), key=key, value=text, what=fault)


def _duration_fault(text: str) -> str:
    if not _DURATION.match(text):
        return "is not a time"
    seconds = sum(Fraction(number) * _SECONDS[unit] for number, unit in re.findall(_PART, text))
    if seconds > _MOST_SECONDS:
        return f"is longer than {_MOST_SECONDS} seconds"
    return "is not a whole number of seconds" if int(seconds) != seconds else ""


RULES: Final = (check_bgp, check_peers)
