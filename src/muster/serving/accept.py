# SPDX-License-Identifier: Apache-2.0
"""Accepts connections one by one, so that they can be counted before anything is spent on them.

The event loop's own servers accept whatever comes, and TLS begins before a protocol can say no.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

HANDSHAKE_S: Final = 10.0
"""How long TLS may take to begin."""
CLOSE_S: Final = 2.0
"""How long TLS may take to end."""
_BACKLOG: Final = 2048
_PAUSE_S: Final = 0.5
UNSENT_BYTES: Final = 128 << 10
"""What the kernel queues of an encrypted answer; with less of it the client is seen to take some."""


def network_of(address: str) -> str:
    """The network of one caller: a single address of IPv4, a whole /64 of IPv6."""
    return prefix_of(address, 32, 64)


def prefix_of(address: str, bits_4: int, bits_6: int) -> str:
    """The network of an address with so many bits; a text that is not an address stays as it is."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    cut = parsed.max_prefixlen - (bits_6 if isinstance(parsed, IPv6Address) else bits_4)
    return str(type(parsed)(int(parsed) >> cut << cut))


async def accept_all(
    listening: socket.socket,
    take: Callable[[socket.socket, str], None],
    complain: Callable[[OSError], None],
    *,
    batch: int = 1,
) -> None:
    """Hand each connection over with the address that it is from, until cancelled; closes what listens."""
    loop, count = asyncio.get_running_loop(), 0
    with listening:
        listening.setblocking(False)
        listening.listen(_BACKLOG)
        while True:
            try:
                accepted, peer = await loop.sock_accept(listening)
            except OSError as error:
                complain(error)
                await asyncio.sleep(_PAUSE_S)
                continue
            take(accepted, str(peer[0]))
            count += 1
            if count % batch == 0:
                # Accepting does not wait while there is something to accept: others have their turn, too.
                await asyncio.sleep(0)


async def begin(accepted: socket.socket, protocol: asyncio.Protocol, context: ssl.SSLContext | None) -> bool:
    """Let a protocol serve a connection, with TLS if there is a context; whether it is served."""
    more: dict[str, Any] = {}
    if context is not None:
        more = {"ssl_handshake_timeout": HANDSHAKE_S, "ssl_shutdown_timeout": CLOSE_S}
    try:
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: protocol, accepted, ssl=context, **more
        )
    except (OSError, TimeoutError):
        return False  # The client does not speak TLS, or went away.
    return True


def reset(transport: asyncio.Transport) -> None:
    """End a connection at once; the kernel forgets what the client did not take."""
    if (found := transport.get_extra_info("socket")) is not None:
        with contextlib.suppress(OSError):
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
