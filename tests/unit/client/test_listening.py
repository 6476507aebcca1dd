# SPDX-License-Identifier: Apache-2.0
"""A service that comes up is noticed at once; one that is there and refuses is not pressed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from muster.client.listening import LOOK_S, wait_until_heard
from tests.unit.service.running import finish


def wait(seconds: float, answers: Iterator[bool]) -> list[float]:
    """How long somebody slept each time."""
    naps: list[float] = []

    async def listens() -> bool:
        return next(answers)

    async def sleep(seconds: float) -> None:
        naps.append(seconds)

    finish(wait_until_heard(listens, seconds, sleep))
    return naps


def test_it_is_heard_as_soon_as_it_is_there() -> None:
    assert wait(60, iter([False, False, False, True])) == [LOOK_S] * 3


def test_nobody_comes() -> None:
    assert sum(wait(3, iter([False] * 100))) == pytest.approx(3)


def test_who_is_there_and_did_not_answer_is_left_alone() -> None:
    assert wait(3, iter([True])) == [3]
