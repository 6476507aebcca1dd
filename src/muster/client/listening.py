# SPDX-License-Identifier: Apache-2.0
"""Waiting for a service that is not there yet: it costs nothing to ask often whether somebody listens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias
from urllib.parse import urlsplit

Listens: TypeAlias = Callable[[], Awaitable[bool]]
LOOK_S: Final = 0.3
_CONNECT_S: Final = 1.0


async def somebody_listens(url: str) -> bool:
    """Whether a connection to the place of a URL can be made."""
    place = urlsplit(url)
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_CONNECT_S):
            _, writer = await asyncio.open_connection(place.hostname, place.port or 443)
            writer.close()
            return True
    return False


async def wait_until_heard(
    listens: Listens, seconds: float, sleep: Callable[[float], Awaitable[None]]
) -> None:
    """Wait for so long, or until somebody listens where nobody did."""
    if await listens():
        return await sleep(seconds)
    while seconds > 0:
        await sleep(min(LOOK_S, seconds))
        seconds -= LOOK_S
        if await listens():
            return None
    return None
