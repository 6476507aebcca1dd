# SPDX-License-Identifier: Apache-2.0
"""Recorded machines, and any number of hosts like them: each with serials, cards and addresses of its own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from muster.errors import UserError, cannot
from muster.model.wire.inventory import Disk, Interface, Inventory, Route

FIRST: Final = 10
"""What the number of a host is added to: the addresses below are those of routers, servers and VIPs."""
WIDE: Final[Mapping[str, str]] = MappingProxyType({
    "192.0.2.0/24": "198.18.0.0/16",
    "198.51.100.0/24": "198.19.0.0/17",
    "203.0.113.0/24": "198.19.128.0/17",
})  # fmt: skip
"""Where hosts go that are too many for the networks of the recordings; it is the range for benchmarks."""
_NO_SERIALS: Final = frozenset({
    "", "unknown", "none", "(none)", "-", "default string", "not specified",
    "unspecified system serial number",
})  # fmt: skip
_TAIL: Final = re.compile(r"\d+\Z")
_MAX_NUMBER: Final = 0xFFFF
_JSON: Final = msgspec.json.Decoder(Inventory)


class Machine(msgspec.Struct, frozen=True, gc=False):
    """A machine: what its agent would say of it."""

    kind: str
    inventory: Inventory

    @property
    def name(self) -> str:
        """Its hostname."""
        return self.inventory.hostname or ""

    @property
    def host_id(self) -> str:
        """The identity that the agent derives: from the serial number, else from the smallest MAC."""
        vendor = self.inventory.system_vendor
        serial = (vendor.serial_number if vendor else None) or ""
        if serial.lower() in _NO_SERIALS:
            serial = min(card.mac_address or "" for card in self.inventory.interfaces or ())
        digits = hashlib.md5(serial.encode(), usedforsecurity=False).hexdigest()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def load_machine(path: Path) -> Machine:
    """A machine from the file with its inventory."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise cannot("read", path, error) from error
    try:
        inventory = _JSON.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} is not the inventory of a machine: {error}",
            hint="it has to be the JSON that a host reports as its inventory",
        ) from error
    if not inventory.hostname or not inventory.interfaces:
        raise UserError(
            f"{path} lacks a hostname or interfaces", hint="record the inventory of a host with a network"
        )
    return Machine(path.stem, inventory)


def load_machines(folder: Path) -> tuple[Machine, ...]:
    """All machines of a folder, by name."""
    found = tuple(load_machine(path) for path in sorted(folder.glob("*.json")))
    if not found:
        raise UserError(f"{folder} holds no recorded machine", hint="inventories are kept there as NAME.json")
    return found


def make_many(machines: Sequence[Machine], count: int) -> Iterator[Machine]:
    """As many hosts as are asked for, of the machines in turn."""
    networks = {} if count + FIRST < 0xFF else WIDE
    for number in range(count):
        yield number_machine(machines[number % len(machines)], number, networks)


def number_machine(
    machine: Machine, number: int, networks: Mapping[str, str] = MappingProxyType({})
) -> Machine:
    """The machine as host number N: the same make, but with names, serials and addresses of its own.

    Its own addresses are renumbered; those of others, such as routers, keep their place in their network.
    Networks that are given as other ones are replaced by those.
    """
    if not 0 <= number <= _MAX_NUMBER:
        raise UserError(f"there is no host number {number}", hint=f"hosts have numbers up to {_MAX_NUMBER}")
    renumbering = _Renumbering(number, networks)
    return Machine(machine.kind, renumbering.inventory(machine.inventory))


class _Renumbering:
    """One host's way from recorded values to its own."""

    def __init__(self, number: int, networks: Mapping[str, str]) -> None:
        self._number = number
        self._networks = networks

    def inventory(self, old: Inventory) -> Inventory:
        vendor, boot = old.system_vendor, old.boot
        return msgspec.structs.replace(
            old,
            hostname=self._counted(old.hostname),
            bmc_address=self._bmc(old.bmc_address),
            bmc_v6address=self._bmc(old.bmc_v6address),
            boot=boot and msgspec.structs.replace(boot, pxe_interface=self._mac(boot.pxe_interface)),
            interfaces=tuple(map(self._card, old.interfaces or ())),
            disks=tuple(map(self._disk, old.disks or ())),
            routes=tuple(map(self._route, old.routes or ())),
            system_vendor=vendor
            and msgspec.structs.replace(vendor, serial_number=self._serial(vendor.serial_number)),
        )

    def _counted(self, text: str | None) -> str | None:
        """A name whose last digits are the number."""
        return text and _TAIL.sub("", text) + str(self._number)

    def _serial(self, text: str | None) -> str | None:
        """A serial whose last digits are the number, as long as before where that is possible."""
        if not text or text.lower() in _NO_SERIALS:
            return text
        found = _TAIL.search(text)
        width = len(found[0]) if found else 4
        return _TAIL.sub("", text) + f"{self._number:0{width}d}"

    def _card(self, old: Interface) -> Interface:
        return msgspec.structs.replace(
            old,
            mac_address=self._mac(old.mac_address),
            ipv4_addresses=tuple(self._own_cidr(each) for each in old.ipv4_addresses or ()),
            ipv6_addresses=tuple(self._own_cidr(each) for each in old.ipv6_addresses or ()),
        )

    def _mac(self, text: str | None) -> str | None:
        """The fourth and fifth octet are the number; the last one tells cards apart."""
        if not text:
            return text
        high, low = divmod(self._number, 0x100)
        return f"{text[:9]}{high:02x}:{low:02x}{text[14:]}"

    def _disk(self, old: Disk) -> Disk:
        if not old.wwn:
            changed = old
        else:
            wwn = self._wwn(old.wwn)
            changed = msgspec.structs.replace(
                old,
                wwn=wwn,
                by_id=old.by_id and old.by_id.replace(old.wwn, wwn),
                id=old.id and old.id.replace(old.wwn, wwn),
            )
        iscsi = old.iscsi
        if iscsi and iscsi.host_ip_address:
            iscsi = msgspec.structs.replace(iscsi, host_ip_address=self._own(iscsi.host_ip_address))
        return msgspec.structs.replace(changed, serial=self._disk_serial(old.serial), iscsi=iscsi)

    def _disk_serial(self, text: str | None) -> str | None:
        """The last two characters tell disks apart, what is before them tells hosts apart."""
        return text and f"{text[:-6]}{self._number:04d}{text[-2:]}" if text and len(text) > 6 else text

    def _wwn(self, text: str) -> str:
        return f"{text[:-6]}{self._number:04x}{text[-2:]}"

    def _route(self, old: Route) -> Route:
        return msgspec.structs.replace(
            old,
            gateway=old.gateway and self._moved(old.gateway),
            destination=old.destination and self._moved(old.destination),
        )

    def _bmc(self, text: str | None) -> str | None:
        if not text or text in ("0.0.0.0", "::/0"):  # noqa: S104 (what an agent says of a host without one)
            return text
        return self._own_cidr(text) if "/" in text else self._own(text)

    def _own_cidr(self, text: str) -> str:
        prefix = text.partition("/")[2]
        known = _known(text.partition("/")[0], prefix)
        return f"{self._place(known, FIRST + self._number)}/{self._target(known).prefixlen}"

    def _own(self, text: str) -> str:
        return self._place(_known(text, ""), FIRST + self._number)

    def _moved(self, text: str) -> str:
        """An address of someone else: at the same place of the network, wherever that is."""
        if text in ("0.0.0.0", "::"):  # noqa: S104 (the default route)
            return text
        known = _known(text, "")
        if str(known) not in self._networks:
            return text
        return self._place(known, int(ip_address(text)) - int(known.network_address))

    def _target(self, known: _Network) -> _Network:
        return _network(self._networks.get(str(known), str(known)))

    def _place(self, known: _Network, offset: int) -> str:
        target = self._target(known)
        if offset >= target.num_addresses - 1:
            raise UserError(
                f"{target} has no room for host number {self._number}",
                hint="give a wider network in its place, such as 198.18.0.0/16",
            )
        return str(target[offset])


_Network = IPv4Network | IPv6Network


@lru_cache(maxsize=256)
def _network(text: str) -> _Network:
    return ip_network(text)


@lru_cache(maxsize=4096)
def _known(address: str, prefix: str) -> _Network:
    """The network of a recorded address; an address without one is in a usual network."""
    if prefix:
        return ip_interface(f"{address}/{prefix}").network
    return ip_interface(f"{address}/{24 if '.' in address else 64}").network
