# SPDX-License-Identifier: Apache-2.0
"""How the hosts of a realm can be reached: what others are told when they are to check that they can.

Each change has a number, so that who asked before is told only what is new.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import count, islice
from typing import Final

import msgspec

from muster.model.wire.inventory import Inventory
from muster.model.wire.steps import ConnectivityCheckHost, ConnectivityCheckNic
from muster.service.derive.addresses import (
    SubnetIndex,
    addresses_of,
    family_of,
    parse_address,
    subnet_of,
)
from muster.service.realm import Realm
from muster.service.state import Host

_KEY: Final = "directory"
_KEPT: Final = 4096
MAX_ADDRESSES: Final = 128
"""Addresses of one host that take part in checks of connectivity."""
_changes = count(1)
"""Numbers of changes; they grow even when a directory is made anew."""


class Entry(msgspec.Struct, frozen=True):
    """How a host can be reached."""

    id: str
    number: int
    body: bytes
    """Its part of a request to check connectivity."""
    addresses: Mapping[str, str]
    """Its addresses, and the subnet of each."""
    numbers: Mapping[str, tuple[int, int]]
    """The version and the number of each address."""
    families: Mapping[str, int]
    """How many addresses it has of each family."""
    nics: Mapping[str, str]
    """The interface in each subnet."""
    names: tuple[str, ...]
    """Its subnets and families."""
    subnets: SubnetIndex
    """Its subnets by the addresses that are in them."""


class Directory:
    """The hosts of a realm that can be reached."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.ids: dict[int, str] = {}
        self.known = 0
        """The numbers of all that are here, as bits."""
        self.first = self.version = next(_changes)
        self._versions: list[int] = []
        self._numbers: list[int] = []

    def set(self, host: Host) -> None:
        """How a host can be reached now."""
        entry = make_entry(host)
        before = self.entries.get(host.id)
        if entry is None:
            self.forget(host.id)
        elif before is None or before.body != entry.body or before.number != entry.number:
            self.forget(host.id)
            self.entries[host.id] = entry
            self.ids[host.number] = host.id
            self.known |= 1 << host.number
            self._note(host.number)

    def forget(self, id: str) -> None:
        """A host cannot be reached any more."""
        entry = self.entries.pop(id, None)
        if entry is not None:
            del self.ids[entry.number]
            self.known &= ~(1 << entry.number)

    def _note(self, number: int) -> None:
        self.version = next(_changes)
        self._versions.append(self.version)
        self._numbers.append(number)
        if len(self._versions) > _KEPT:
            self.first = self._versions[_KEPT // 2]
            del self._versions[: _KEPT // 2], self._numbers[: _KEPT // 2]

    def changed_since(self, version: int) -> int:
        """The hosts that are new or others since then, as bits."""
        if version < self.first:
            return self.known
        changed = 0
        for number in self._numbers[bisect_right(self._versions, version) :]:
            changed |= 1 << number
        return changed & self.known


def make_entry(host: Host) -> Entry | None:
    """How a host can be reached, if it said so."""
    if host.inventory is None:
        return None
    nics = tuple(_nics(host.inventory))
    if not nics:
        return None
    addresses: dict[str, str] = {}
    by_subnet: dict[str, str] = {}
    for nic in nics:
        for text in nic.ip_addresses or ():
            address, subnet = text.partition("/")[0], subnet_of(text)
            addresses[address], by_subnet[subnet] = subnet, nic.name or ""
    families: dict[str, int] = {}
    for address in addresses:
        families[family_of(address)] = families.get(family_of(address), 0) + 1
    return Entry(
        id=host.id,
        number=host.number,
        body=msgspec.json.encode(ConnectivityCheckHost(host_id=host.id, nics=nics)),
        addresses=addresses,
        numbers={address: parse_address(address) for address in addresses},
        families=families,
        nics=by_subnet,
        names=(*by_subnet, *families),
        subnets=SubnetIndex(by_subnet),
    )


def _nics(inventory: Inventory) -> Iterator[ConnectivityCheckNic]:
    """The interfaces with addresses that take part, in the order of the inventory."""
    left = MAX_ADDRESSES
    for each in inventory.interfaces or ():
        usable = tuple(islice((text for text in addresses_of(each) if subnet_of(text)), left))
        if usable:
            left -= len(usable)
            yield ConnectivityCheckNic(name=each.name, mac=each.mac_address, ip_addresses=usable)
        if not left:
            return


def directory_of(realm: Realm) -> Directory:
    """The directory of a realm, made anew if nobody keeps it."""
    kept = realm.cache.get(_KEY)
    if isinstance(kept, Directory):
        return kept
    directory = realm.cache[_KEY] = Directory()
    for host in realm.hosts.values():
        directory.set(host)
    return directory
