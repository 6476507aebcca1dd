# SPDX-License-Identifier: Apache-2.0
"""As much of DHCP as it takes to get an address for a MAC: frames, and leases as the service keeps them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from datetime import datetime, timedelta
from ipaddress import IPv4Address
from typing import Final

from muster.agent.steps.arp import parse_mac
from muster.agent.steps.wire import BROADCAST, IPV4
from muster.frozen import dataclass

DISCOVER, OFFER, REQUEST, ACK, NAK = 1, 2, 3, 5, 6
_CLIENT, _SERVER = 68, 67
_UDP: Final = 17
_COOKIE: Final = bytes((99, 130, 83, 99))
_BOOTP: Final = struct.Struct("!BBBBIHH4s4s4s4s16s192x")
_IP: Final = struct.Struct("!BBHHHBBH4s4s")
_ETHERNET_BYTES: Final = 14
_LEAST_BYTES: Final = 300
"""Servers of BOOTP's days drop what is shorter."""
_ANSWER_BROADCAST: Final = 0x8000
"""The address is not ours yet when the server answers."""
_WANTED: Final = bytes((1, 3, 6, 15, 28, 51, 54, 58, 59))
_FIXED: Final = re.compile(r"^\s*fixed-address\s+([0-9.]+)\s*;", re.MULTILINE)
_DEFAULT_LEASE_S: Final = 3600
_MASK, _ROUTER, _HOST_NAME, _ADDRESS, _LEASE_S, _KIND, _SERVER_ID, _PARAMETERS, _CLIENT_ID = (
    *(1, 3, 12, 50, 51, 53),
    *(54, 55, 61),
)
_PAD, _END = 0, 255


@dataclass(frozen=True)
class Client:
    """Who asks for an address."""

    mac: str
    name: str
    xid: int
    """What its packets and the answers to them have in common."""


@dataclass(frozen=True)
class Answer:
    """What a server says."""

    kind: int
    xid: int
    mac: str
    address: IPv4Address
    options: Mapping[int, bytes]


def render_discover(client: Client, wish: IPv4Address | None) -> bytes:
    """The frame that asks all servers, perhaps for the address of before."""
    asked = {_ADDRESS: wish.packed} if wish is not None else {}
    return _frame(client, {_KIND: bytes((DISCOVER,)), **asked})


def render_request(client: Client, offer: Answer) -> bytes:
    """The frame that takes an offer."""
    server = {_SERVER_ID: offer.options[_SERVER_ID]} if _SERVER_ID in offer.options else {}
    return _frame(client, {_KIND: bytes((REQUEST,)), _ADDRESS: offer.address.packed, **server})


def _frame(client: Client, options: Mapping[int, bytes]) -> bytes:
    mac = parse_mac(client.mac)
    name = client.name.encode()
    all_options = {**options, _CLIENT_ID: b"\x01" + mac, _HOST_NAME: name, _PARAMETERS: _WANTED}
    body = b"".join(bytes((code, len(value))) + value for code, value in all_options.items())
    nowhere = bytes(4)
    addresses = (nowhere, nowhere, nowhere, nowhere)
    head = _BOOTP.pack(1, 1, 6, 0, client.xid, 0, _ANSWER_BROADCAST, *addresses, mac)
    datagram = (head + _COOKIE + body + bytes((_END,))).ljust(_LEAST_BYTES, b"\0")
    udp = struct.pack("!HHHH", _CLIENT, _SERVER, 8 + len(datagram), 0)  # IPv4 does without this checksum.
    return BROADCAST + mac + struct.pack("!H", IPV4) + _ip_head(len(udp) + len(datagram)) + udp + datagram


def _ip_head(size: int) -> bytes:
    fields = (0x45, 0x10, _IP.size + size, 0, 0, 64, _UDP)
    ends = (bytes(4), b"\xff" * 4)
    words = struct.unpack("!10H", _IP.pack(*fields, 0, *ends))
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return _IP.pack(*fields, ~total & 0xFFFF, *ends)


def parse_answer(frame: bytes) -> Answer | None:
    """What a server says; None for all other traffic."""
    packet = frame[_ETHERNET_BYTES:]
    if len(packet) < _IP.size or packet[9] != _UDP:
        return None
    datagram = packet[(packet[0] & 0x0F) * 4 :]
    if datagram[:4] != struct.pack("!HH", _SERVER, _CLIENT):
        return None
    body = datagram[8:]
    if len(body) < _BOOTP.size + len(_COOKIE) or body[_BOOTP.size :][: len(_COOKIE)] != _COOKIE:
        return None
    head = _BOOTP.unpack_from(body)
    options = parse_options(body[_BOOTP.size + len(_COOKIE) :])
    kind = options.get(_KIND, b"")
    if head[0] != 2 or len(kind) != 1:
        return None
    return Answer(kind[0], head[4], head[11][:6].hex(":"), IPv4Address(head[8]), options)


def parse_options(text: bytes) -> Mapping[int, bytes]:
    """Options by number; one that is cut off ends them."""
    found: dict[int, bytes] = {}
    at = 0
    while at < len(text) and text[at] != _END:
        if text[at] == _PAD:
            at += 1
            continue
        size = text[at + 1] if at + 1 < len(text) else 0
        value = text[at + 2 : at + 2 + size]
        if at + 1 >= len(text) or len(value) < size:
            break
        found[text[at]] = found.get(text[at], b"") + value
        at += 2 + size
    return found


def render_lease(nic: str, answer: Answer, now: datetime) -> str:
    """A lease in the form that dhclient keeps, which the service hands on."""
    lines = [f'interface "{nic}"', f"fixed-address {answer.address}"]
    names = {_MASK: "subnet-mask", _ROUTER: "routers", _SERVER_ID: "dhcp-server-identifier"}
    for code, name in names.items():
        if addresses := _addresses(answer.options.get(code, b"")):
            lines.append(f"option {name} {addresses}")
    lease_s = _seconds(answer)
    lines.append(f"option dhcp-lease-time {lease_s}")
    for name, part in (("renew", 1 / 2), ("rebind", 7 / 8), ("expire", 1)):
        at = now + timedelta(seconds=lease_s * part)
        lines.append(f"{name} {at.isoweekday() % 7} {at:%Y/%m/%d %H:%M:%S}")
    return "lease {\n" + "".join(f"  {line};\n" for line in lines) + "}\n"


def _addresses(value: bytes) -> str:
    whole = len(value) // 4 * 4
    return ", ".join(str(IPv4Address(value[at : at + 4])) for at in range(0, whole, 4))


def _seconds(answer: Answer) -> int:
    value = answer.options.get(_LEASE_S, b"")
    return min(int.from_bytes(value), 10 * 365 * 86400) if len(value) == 4 else _DEFAULT_LEASE_S


def parse_leased(lease: str | None) -> IPv4Address | None:
    """The address of the last lease in a text."""
    found = _FIXED.findall(lease or "")
    try:
        return IPv4Address(found[-1]) if found else None
    except ValueError:
        return None
