# SPDX-License-Identifier: Apache-2.0
"""Who answers to an address, and what is said of it: worked out once, as hundreds of hosts ask for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Final

import msgspec

from muster.model.wire.steps import ConnectivityCheckHost

_ENCODER: Final = msgspec.json.Encoder()
_PEER: Final = msgspec.json.Decoder(ConnectivityCheckHost)


class Port(msgspec.Struct, frozen=True, gc=False):
    """A card that answers to an address, and the segment it is plugged into."""

    mac: str
    segment: str
    host: str = ""
    key: str = ""
    """HOST/CARD; empty for those that are no hosts of the site."""


class Place(msgspec.Struct, frozen=True):
    """An address, and all that answer to it: more than one when it is used twice."""

    address: str
    version: int
    number: int
    ports: tuple[Port, ...]
    way: tuple[int, str]
    """What a host needs to reach it when nothing is broken: the version, and a way to this segment."""
    named: str
    """How a report begins that is about this address."""


class Seen(msgspec.Struct, frozen=True):
    """An address that a peer says it has, and how a report ends in which each port answers to it."""

    place: Place
    arps: tuple[tuple[Port, str], ...]


class Peer(msgspec.Struct, frozen=True):
    """A peer that is asked."""

    host_id: str
    named: str
    """How the report about it begins."""
    seen: tuple[Seen, ...]


def quote(text: str) -> str:
    """A text as JSON has it."""
    return _ENCODER.encode(text).decode()


def make_place(address: str, ports: Sequence[Port]) -> Place:
    """The place of an address; a ValueError if it is none."""
    parsed = ip_address(address)
    named = f'{{"remote_ip_address":{quote(address)}'
    way = (parsed.version, ports[0].segment if ports else "")
    return Place(address, parsed.version, int(parsed), tuple(ports), way, named)


def make_peer(text: bytes, find: Callable[[str], Place]) -> Peer:
    """The peer that a check names; a ValueError if one of its addresses is none."""
    host = _PEER.decode(text)
    nics = host.nics or ()
    macs = {nic.mac for nic in nics}
    places = [find(cidr) for nic in nics for cidr in nic.ip_addresses or ()]
    seen = tuple(
        Seen(place, tuple((port, _tail(place, port, macs)) for port in place.ports)) for place in places
    )
    return Peer(host.host_id or "", f'{{"host_id":{quote(host.host_id or "")},"l2_connectivity":[', seen)


def _tail(place: Place, port: Port, macs: set[str | None]) -> str:
    """That a port answered; it is well only if it is one of the peer's own."""
    success = ',"successful":true' if port.mac in macs else ""
    return f',"remote_ip_address":{quote(place.address)},"remote_mac":{quote(port.mac)}{success}}}'
