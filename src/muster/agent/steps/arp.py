# SPDX-License-Identifier: Apache-2.0
"""Which of many addresses on a link somebody has: all are asked for at once, but not too quickly."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address
from typing import Final

from muster.agent.steps.wire import ARP, BROADCAST, Link, Wire
from muster.frozen import dataclass

_HEAD: Final = struct.Struct("!6s6sHHHBBH6s4s6s4s")
_ETHERNET: Final = 1
_IPV4: Final = 0x0800
_REQUEST: Final = 1


@dataclass(frozen=True)
class Asker:
    """Who asks. With its own address, because some hosts ignore those who have none."""

    nic: str
    mac: str
    address: IPv4Address


@dataclass(frozen=True)
class Pace:
    """How quickly it is asked, and how long for answers is waited."""

    rounds: int = 2
    """So often is asked for an address that nobody answers for."""
    burst: int = 32
    gap_s: float = 0.02
    """Between bursts: 1600 requests a second are no load for a switch."""
    wait_s: float = 0.75
    """After each round."""


def parse_mac(mac: str) -> bytes:
    """The six bytes of a MAC. `ValueError` if it has others."""
    found = bytes.fromhex(mac.replace(":", "").replace("-", ""))
    if len(found) != len(BROADCAST):
        raise ValueError(f"{mac} is no MAC of Ethernet")
    return found


def render_request(asker: Asker, target: IPv4Address) -> bytes:
    """The frame that asks for an address."""
    mac = parse_mac(asker.mac)
    head = (BROADCAST, mac, ARP, _ETHERNET, _IPV4, 6, 4, _REQUEST)
    return _HEAD.pack(*head, mac, asker.address.packed, bytes(6), target.packed)


def parse_owner(frame: bytes) -> tuple[IPv4Address, str] | None:
    """An address and the MAC that has it. Requests tell that as well, but not those of who has none yet."""
    if len(frame) < _HEAD.size:
        return None
    _, _, protocol, hardware, network, *lengths, _, mac, address, _, _ = _HEAD.unpack_from(frame)
    if (protocol, hardware, network, lengths) != (ARP, _ETHERNET, _IPV4, [6, 4]):
        return None
    owner = IPv4Address(address)
    return None if owner.is_unspecified else (owner, mac.hex(":"))


async def find_owners(
    wire: Wire, asker: Asker, targets: Sequence[IPv4Address], pace: Pace
) -> Mapping[IPv4Address, frozenset[str]]:
    """Those of the addresses that others have, with all MACs that said so. `OSError` if that fails."""
    owners: dict[IPv4Address, frozenset[str]] = {}
    wanted = frozenset(targets)
    with wire.open(asker.nic, ARP) as link:
        listening = asyncio.create_task(_listen(link, asker, wanted, owners))
        try:
            for _ in range(pace.rounds):
                silent = [each for each in targets if each not in owners]
                await _ask_for(link, asker, silent, pace)
                if listening.done():
                    break
        finally:
            listening.cancel()
            ended = await asyncio.gather(listening, return_exceptions=True)
    if isinstance(ended[0], OSError):
        raise ended[0]
    return owners


async def _ask_for(link: Link, asker: Asker, targets: Sequence[IPv4Address], pace: Pace) -> None:
    for number, target in enumerate(targets, 1):
        await link.send(render_request(asker, target))
        if number % pace.burst == 0:
            await asyncio.sleep(pace.gap_s)
    if targets:
        await asyncio.sleep(pace.wait_s)


async def _listen(
    link: Link, asker: Asker, wanted: frozenset[IPv4Address], owners: dict[IPv4Address, frozenset[str]]
) -> None:
    own = asker.mac.lower()
    while True:
        found = parse_owner(await link.receive())
        if found is None or found[0] not in wanted or found[1] == own:
            continue
        address, mac = found
        owners[address] = owners.get(address, frozenset()) | {mac}
