# SPDX-License-Identifier: Apache-2.0
"""What callers are shown is durable, whoever decides something while they wait for that."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from muster.service.api.showing import seen
from muster.service.refusals import Outdated
from tests.unit.service.running import finish


class Busy:
    """A service in which somebody decides something each time that somebody else waits for the disk."""

    def __init__(self, *, failures: int = 0) -> None:
        self.in_memory = self.durable = 0
        self._failures = failures

    async def settle(self, *_realms: str) -> None:
        if self._failures:
            self._failures -= 1
            raise Outdated("it was not written")
        self.durable = self.in_memory
        self.in_memory += 1

    def look(self) -> int:
        call: Any = SimpleNamespace(service=self)
        return finish(seen(call, ("realm",), lambda: self.in_memory))


def test_what_was_decided_meanwhile_is_shown_only_when_it_is_durable() -> None:
    busy = Busy()
    busy.in_memory = 1
    assert (busy.look(), busy.durable) == (1, 1)


def test_what_was_not_written_is_looked_at_again() -> None:
    busy = Busy(failures=2)
    assert busy.look() == busy.durable


def test_one_that_never_gets_written_is_told() -> None:
    with pytest.raises(Outdated):
        Busy(failures=99).look()
