# SPDX-License-Identifier: Apache-2.0
"""Frames as they are on an interface's wire, for what no program of the host sends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Protocol

from muster.frozen import dataclass

ARP: Final = 0x0806
IPV4: Final = 0x0800
BROADCAST: Final = b"\xff" * 6
_BUFFER_BYTES: Final = 1 << 20
_FRAME_BYTES: Final = 65536


class Link(Protocol):
    """An open interface."""

    async def send(self, frame: bytes) -> None:
        """Send a frame with all its headers."""

    async def receive(self) -> bytes:
        """The next frame that comes in."""


class Wire(Protocol):
    """All interfaces of a host; in tests a network that is made up."""

    def open(self, nic: str, protocol: int) -> AbstractContextManager[Link]:
        """Open an interface for frames of one protocol. `OSError` if that, or anything after it, fails."""


@dataclass(frozen=True)
class RawLink:
    """An interface of this machine."""

    channel: socket.socket

    async def send(self, frame: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.channel, frame)

    async def receive(self) -> bytes:
        return await asyncio.get_running_loop().sock_recv(self.channel, _FRAME_BYTES)


class RawWire:
    """The interfaces of this machine. Only root may open them."""

    @contextmanager
    def open(self, nic: str, protocol: int) -> Iterator[Link]:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as channel:
            channel.setblocking(False)
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            channel.bind((nic, protocol))  # Only from now on, so that other interfaces are never heard.
            yield RawLink(channel)


RAW: Final = RawWire()
