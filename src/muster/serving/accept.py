# SPDX-License-Identifier: Apache-2.0
"""Accepts connections one by one, so that they can be counted before anything is spent on them.

The event loop's own servers accept whatever comes, and TLS begins before a protocol can say no.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any, Final

HANDSHAKE_S: Final = 10.0
"""How long TLS may take to begin."""
CLOSE_S: Final = 2.0
"""How long TLS may take to end."""
_BACKLOG: Final = 2048
_PAUSE_S: Final = 0.5


async def accept_all(
    listening: socket.socket, take: Callable[[socket.socket, str], None], complain: Callable[[OSError], None]
) -> None:
    """Hand each connection over with the address that it is from, until cancelled; closes what listens."""
    loop = asyncio.get_running_loop()
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
            # Accepting does not wait while there is something to accept: others have their turn, too.
            await asyncio.sleep(0)


async def begin(accepted: socket.socket, protocol: asyncio.Protocol, context: ssl.SSLContext | None) -> bool:
    """Let a protocol serve a connection, with TLS if there is a context; whether it is served."""
    more: dict[str, Any] = {}
    if context is not None:
        more = {"ssl_handshake_timeout": HANDSHAKE_S, "ssl_shutdown_timeout": CLOSE_S}
    try:
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: protocol, accepted, ssl=context, **more
        )
    except (OSError, TimeoutError):
        return False  # The client does not speak TLS, or went away.
    return True
