# SPDX-License-Identifier: Apache-2.0
"""Who answers to an address: worked out once, as hundreds of hosts ask for it again and again."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address

import msgspec


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


def make_place(address: str, ports: Sequence[Port]) -> Place:
    """The place of an address; a ValueError if it is none."""
    parsed = ip_address(address)
    return Place(address, parsed.version, int(parsed), tuple(ports))
