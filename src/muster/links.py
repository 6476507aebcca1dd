# SPDX-License-Identifier: Apache-2.0
"""This machine's addresses, and news of its links, addresses, routes and disks as the kernel tells them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from enum import Enum, auto
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final, TypeAlias

from muster.run import ask

IP: TypeAlias = IPv4Address | IPv6Address
_LINKS_AND_ADDRESSES: Final = 0x1 | 0x10 | 0x100 | 0x40 | 0x400
"""Groups of rtnetlink: links, addresses and routes of both families."""
_UEVENTS: Final = 15
_BLOCK: Final = b"SUBSYSTEM=block"
_QUIET_S: Final = 1.0
"""Changes come in swarms; nobody is called before it was quiet for so long."""
_PIECE: Final = 1 << 16


class Kind(Enum):
    """What changed."""

    LINKS = auto()
    """Links, addresses or routes."""
    DISKS = auto()
    OTHER = auto()


class Changes:
    """Something changed on this machine: whoever waits is called once for a swarm of changes."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self._kinds: set[Kind] = set()

    def note(self, kind: Kind = Kind.OTHER) -> None:
        """Something changed."""
        self._kinds.add(kind)
        self._changed.set()

    async def wait(self, seconds: float) -> frozenset[Kind]:
        """Wait for a change, and then until it is quiet; what changed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        while self._changed.is_set():
            self._changed.clear()
            await asyncio.sleep(_QUIET_S)
        seen = frozenset(self._kinds)
        self._kinds.clear()
        return seen


@contextlib.asynccontextmanager
async def open_changes() -> AsyncIterator[Changes]:
    """Listen to the kernel until the body ends."""
    changes, loop = Changes(), asyncio.get_running_loop()
    with contextlib.ExitStack() as stack:
        for protocol, groups, wanted, kind in (
            (socket.NETLINK_ROUTE, _LINKS_AND_ADDRESSES, b"", Kind.LINKS),
            (_UEVENTS, 1, _BLOCK, Kind.DISKS),
        ):
            listening = stack.enter_context(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol))
            listening.setblocking(False)
            listening.bind((0, groups))
            loop.add_reader(listening, _hear, listening, wanted, partial(changes.note, kind))
            stack.callback(loop.remove_reader, listening)
        yield changes


def _hear(listening: socket.socket, wanted: bytes, note: Callable[[], None]) -> None:
    try:
        while data := listening.recv(_PIECE):
            if wanted in data:
                note()
    except BlockingIOError:
        return
    except OSError:  # More than we could take at once: something did change.
        note()


async def find_addresses() -> tuple[IP, ...]:
    """The addresses that this machine has, without those that only count on one link."""
    said = await ask(["ip", "-j", "address"], deadline_s=10)
    return parse_addresses(said.out) if said.is_ok else ()


async def find_taken() -> tuple[IP, ...]:
    """The addresses that this machine was given and cannot use, because another one has them."""
    said = await ask(["ip", "-j", "address"], deadline_s=10)
    return parse_addresses(said.out, taken=True) if said.is_ok else ()


def parse_addresses(text: str, *, taken: bool = False) -> tuple[IP, ...]:
    """The addresses in what `ip -j address` says, or those that others have; tentative ones are nobody's."""
    try:
        links = json.loads(text)
        found = [
            ip_address(each["local"])
            for link in links
            for each in link.get("addr_info", ())
            if "local" in each and _is_taken(each) is taken and (taken or not each.get("tentative"))
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return ()
    return tuple(each for each in found if not (each.is_loopback or each.is_link_local))


def _is_taken(info: dict[str, Any]) -> bool:
    """Whether the kernel found that another machine has it, before it was used here."""
    return bool(info.get("dadfailed"))
