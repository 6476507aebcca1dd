# SPDX-License-Identifier: Apache-2.0
"""What somebody types in about the network of a host, read and checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import fields
from ipaddress import IPv4Interface, IPv6Interface, ip_address, ip_interface
from typing import Final, Literal, TypeAlias

from muster.console.fields import WrongField
from muster.frozen import dataclass
from muster.links import IP

Method: TypeAlias = Literal["auto", "manual", "disabled"]
_VLAN: Final = range(1, 4095)
_LONGEST: Final = 15
"""So long the name of an interface may be."""
_NAME: Final = re.compile(r":| \(")
"""Ends the name of a field in its label."""
MODES: Final = (
    "active-backup",
    "802.3ad",
    "balance-rr",
    "balance-xor",
    "broadcast",
    "balance-tlb",
    "balance-alb",
)


@dataclass(frozen=True)
class Typed:
    """The fields of the form, as somebody left them."""

    ipv4: str = "dhcp"
    gateway4: str = ""
    ipv6: str = "auto"
    gateway6: str = ""
    dns: str = ""
    vlan: str = ""
    bond: str = ""
    mode: str = "active-backup"


LABELS: Final = {
    "ipv4": "IPv4: dhcp, off, or address/prefix",
    "gateway4": "IPv4 gateway",
    "ipv6": "IPv6: auto, off, or address/prefix",
    "gateway6": "IPv6 gateway",
    "dns": "DNS servers",
    "vlan": "VLAN id (optional)",
    "bond": "Bond with (optional), such as eth1",
    "mode": "Mode of the bond",
}


@dataclass(frozen=True)
class Family:
    """How a host gets its address of a family."""

    method: Method
    address: str = ""
    gateway: str = ""


@dataclass(frozen=True)
class Bond:
    """Several interfaces as one."""

    name: str
    ports: tuple[str, ...]
    mode: str


@dataclass(frozen=True)
class Wish:
    """How the network of an interface is to be."""

    device: str
    ipv4: Family
    ipv6: Family
    dns: tuple[IP, ...] = ()
    vlan: int | None = None
    bond: Bond | None = None

    @property
    def carrier(self) -> str:
        """What a VLAN is on, or has the addresses without one."""
        return self.bond.name if self.bond else self.device

    @property
    def interface(self) -> str:
        """The interface that carries the addresses."""
        return f"{self.carrier}.{self.vlan}" if self.vlan else self.carrier


class WrongWish(WrongField):
    """What is wrong with what was typed in."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, f"{_NAME.split(LABELS[field])[0]}: {reason}")


def parse_wish(device: str, typed: Typed, cards: Collection[str] = ()) -> Wish:
    """What somebody wants of a host with these interfaces; a WrongWish says what cannot be."""
    texts = {each.name: getattr(typed, each.name).strip() for each in fields(typed)}
    wish = Wish(
        device,
        _family(4, texts["ipv4"], texts["gateway4"]),
        _family(6, texts["ipv6"], texts["gateway6"]),
        tuple(_servers(texts["dns"])),
        _vlan(texts["vlan"]),
        _bond(device, texts["bond"], texts["mode"], cards),
    )
    if len(wish.interface) > _LONGEST:
        raise WrongWish("vlan", f"{wish.interface} is too long for the name of an interface")
    if wish.ipv4.method == wish.ipv6.method == "disabled":
        raise WrongWish("ipv4", "one family has to be on, or nobody reaches this host")
    return wish


def _family(version: int, text: str, gateway: str) -> Family:
    name, gate = f"ipv{version}", f"gateway{version}"
    if text.lower() in ("off", "disabled", "none"):
        method: Method = "disabled"
    elif text.lower() in ("auto", "dhcp"):
        method = "auto"
    else:
        return _static(version, text, gateway)
    if gateway:
        raise WrongWish(gate, f"a gateway needs an address, and {name} is {text.lower()}; leave it empty")
    return Family(method)


def _static(version: int, text: str, gateway: str) -> Family:
    name, gate = f"ipv{version}", f"gateway{version}"
    try:
        address = ip_interface(text)
    except ValueError:
        raise WrongWish(name, f"{text or 'nothing'} is no address with its prefix") from None
    if address.version != version:
        raise WrongWish(name, f"{text} is an IPv{address.version} address")
    if "/" not in text:
        raise WrongWish(name, f"{text} needs the length of its prefix, such as {text}/{_usual(version)}")
    if reason := _unusable(address):
        raise WrongWish(name, f"{address} {reason}")
    if gateway:
        _check_gateway(gate, address, gateway)
    return Family("manual", str(address), gateway)


def _usual(version: int) -> int:
    return 24 if version == 4 else 64


def _unusable(address: IPv4Interface | IPv6Interface) -> str:
    if address.is_multicast or address.is_unspecified or address.is_loopback:
        return "cannot be the address of a host"
    net = address.network
    if net.version == 4 and net.prefixlen < 31 and address.ip in (net.network_address, net.broadcast_address):
        return "is the address of the network itself, or its broadcast address"
    return ""


def _check_gateway(field: str, address: IPv4Interface | IPv6Interface, text: str) -> None:
    try:
        gateway = ip_address(text)
    except ValueError:
        raise WrongWish(field, f"{text} is no address") from None
    if gateway == address.ip:
        raise WrongWish(field, f"{text} is the address of this host itself")
    if gateway not in address.network and not gateway.is_link_local:
        raise WrongWish(field, f"{text} is not in {address.network}, so it cannot be reached")


def _servers(text: str) -> Iterator[IP]:
    for each in text.replace(",", " ").split():
        try:
            yield ip_address(each)
        except ValueError:
            raise WrongWish("dns", f"{each} is no address") from None


def _vlan(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:6]) in _VLAN):
        raise WrongWish("vlan", f"{text} is not between {_VLAN[0]} and {_VLAN[-1]}")
    return int(text)


def _bond(device: str, text: str, mode: str, cards: Collection[str]) -> Bond | None:
    others = text.replace(",", " ").split()
    if not others:
        return None
    for each in others:
        if each not in cards or each.partition(".")[2]:
            raise WrongWish("bond", f"{each} is no card of this host; there are: {', '.join(sorted(cards))}")
    ports = tuple(dict.fromkeys((device, *others)))
    if len(ports) < 2:
        raise WrongWish("bond", f"{device} cannot be bonded with itself")
    if mode.lower() not in MODES:
        raise WrongWish("mode", f"{mode or 'nothing'} is none of {', '.join(MODES)}")
    name = next(name for number in range(len(cards) + 1) if (name := f"bond{number}") not in cards)
    return Bond(name, ports, mode.lower())
