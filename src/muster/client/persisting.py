# SPDX-License-Identifier: Apache-2.0
"""Saying something to a service that may be away for a while: again, until it is told or too late."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from muster.client.calls import Refused, Unreachable
from muster.frozen import dataclass
from muster.patience import Patience

_FOR_NOW: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""What may be accepted later; every other refusal is for good."""


@dataclass(frozen=True)
class Persistence:
    """How somebody goes on trying."""

    chance: Callable[[], float]
    clock: Callable[[], float]
    """Seconds that only ever grow."""
    sleep: Callable[[float], Awaitable[None]]
    for_s: float

    async def tell(self, call: Callable[[], Awaitable[object]]) -> None:
        """Return when it was told; `Refused` when it never will be, `Unreachable` when it is too late."""
        patience, end = Patience(self.chance), self.clock() + self.for_s
        while True:
            try:
                await call()
            except Unreachable:
                if self.clock() >= end:
                    raise
                await self.sleep(patience.next_s())
            except Refused as error:
                if error.code not in _FOR_NOW or self.clock() >= end:
                    raise
                await self.sleep(patience.next_s(error.retry_s))
            else:
                return
