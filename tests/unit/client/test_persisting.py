# SPDX-License-Identifier: Apache-2.0
"""Saying something to a service that is away for a while."""

from __future__ import annotations

import pytest

from muster.client.calls import Refused, Unreachable
from muster.client.persisting import Persistence
from tests.unit.service.running import finish

AWAY = Unreachable("https://x", "connection refused")


def tell(*answers: Exception | None) -> list[float]:
    """How long was waited between the tries."""
    naps: list[float] = []
    left = list(answers)

    async def sleep(seconds: float) -> None:
        naps.append(seconds)

    async def call() -> None:
        answer = left.pop(0) if left else AWAY
        if answer is not None:
            raise answer

    finish(Persistence(lambda: 0.5, lambda: sum(naps), sleep, 60.0).tell(call))
    return naps


def test_it_is_told_as_soon_as_somebody_listens() -> None:
    assert tell(None) == []
    assert len(tell(AWAY, AWAY, Refused(503, "full"), None)) == 3


def test_waits_grow_and_what_the_service_asks_for_is_kept() -> None:
    naps = tell(AWAY, AWAY, AWAY, Refused(429, "too many", 30.0), None)
    assert naps[:3] == sorted(naps[:3])
    assert naps[3] == 30.0


def test_what_is_refused_for_good_is_not_said_again() -> None:
    with pytest.raises(Refused, match="no such host"):
        tell(Refused(404, "no such host"), None)


def test_nobody_waits_for_ever() -> None:
    with pytest.raises(Unreachable):
        tell()
