# SPDX-License-Identifier: Apache-2.0
"""The server of a registry: from the moment it listens until somebody ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any, Final

from muster.frozen import dataclass
from muster.release.registry.exchange import Exchange
from muster.release.store.store import Store
from muster.serving.server import Place, open_server

_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """How a store is served."""

    tls: ssl.SSLContext | None = None
    users: Mapping[str, bytes] = field(default_factory=dict)
    """With their bcrypt hashes; empty for everybody."""
    patience_s: float = 60.0
    """How long a client may send no request, or take nothing of an answer."""
    grace_s: float = 5.0
    """What running transfers get when the server is ended."""


@dataclass(frozen=True)
class _Signals:
    first: asyncio.Event
    second: asyncio.Event
    """Who asks twice does not want to wait."""


async def serve(
    store: Store, listening: socket.socket, settings: Settings, tell: Callable[[int], None]
) -> None:
    """Serve until the process is asked to end; ``tell`` is told how many names there are, once it does."""
    asyncio.get_running_loop().set_exception_handler(_note)
    exchange = Exchange(store, settings.users, settings.patience_s)
    place = Place(listening, settings.patience_s, settings.tls)
    try:
        async with _hearing_signals() as signals:
            end = partial(_let_end, exchange, signals, settings.grace_s)
            async with open_server(exchange, place, _logger, end):
                tell(exchange.count)
                await signals.first.wait()
    finally:
        exchange.close()


def _note(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What no client is told, such as that no more connections are possible."""
    _logger.error("%s: %r", context.get("message"), context.get("exception"))


@contextlib.asynccontextmanager
async def _hearing_signals() -> AsyncIterator[_Signals]:
    loop = asyncio.get_running_loop()
    signals = _Signals(asyncio.Event(), asyncio.Event())

    def hear() -> None:
        (signals.second if signals.first.is_set() else signals.first).set()

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        loop.add_signal_handler(number, hear)
    try:
        yield signals
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


async def _let_end(exchange: Exchange, signals: _Signals, grace_s: float) -> None:
    """Wait until all are answered, for a moment, or until somebody asks once more."""
    if exchange.idle.is_set():
        return
    _logger.info("what is being sent gets %g s; who asks again to end need not wait", grace_s)
    waits = [asyncio.ensure_future(event.wait()) for event in (exchange.idle, signals.second)]
    await asyncio.wait(waits, timeout=grace_s, return_when=asyncio.FIRST_COMPLETED)
    for each in waits:
        each.cancel()
    if not exchange.idle.is_set():
        _logger.warning("what was being sent is cut off%s", ", as asked" if signals.second.is_set() else "")
