# SPDX-License-Identifier: Apache-2.0
"""/ready follows the store: a write is tried when nobody has written for a while."""

from __future__ import annotations

import threading

import pytest

from muster.service import readiness
from muster.service.readiness import BAD_FOR_S, GOOD_FOR_S, Readiness
from muster.service.store.memory import MemoryStore
from muster.service.store.port import StoreError, UnavailableError


class Probed(MemoryStore):
    """Counts what is noted, and fails as long as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.error: StoreError | None = None
        self.gate = threading.Event()
        self.gate.set()

    def write_note(self, name: str, value: str) -> None:
        self.gate.wait(30)
        self.writes += 1
        if self.error is not None:
            raise self.error
        super().write_note(name, value)


class Steady:
    """Seconds that a test lets pass."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_write_is_tried_seldom_and_its_failure_is_told_without_paths() -> None:
    store, steady = Probed(), Steady()
    ready = Readiness(store, steady)
    assert [await ready.ask() for _ in range(100)] == [""] * 100
    assert store.writes == 2, "one probe is written and removed"
    store.error = StoreError(
        "/var/lib/muster/muster.sqlite: disk is full", hint="free some space on its disk"
    )
    steady.now += GOOD_FOR_S
    assert {await ready.ask() for _ in range(100)} == {
        "the database cannot be written; free some space on its disk"
    }
    assert store.writes == 3
    store.error = None
    steady.now += BAD_FOR_S
    assert await ready.ask() == ""
    assert store.note("probe") == ""


async def test_what_others_write_counts() -> None:
    store, steady = Probed(), Steady()
    ready = Readiness(store, steady)
    ready.note()
    assert await ready.ask() == ""
    ready.note(UnavailableError("PostgreSQL muster at 192.0.2.1: no route", hint="start it"))
    assert await ready.ask() == "the database cannot be written: it is not available"
    ready.note()
    assert (await ready.ask(), store.writes) == ("", 0)


async def test_a_write_that_hangs_is_told_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "PATIENCE_S", 0.01)
    store = Probed()
    ready = Readiness(store, Steady())
    store.gate.clear()
    for _ in range(3):
        assert "a write takes more than" in await ready.ask()
    store.gate.set()
    await ready.close()
    assert await ready.ask() == ""
    assert store.writes == 2
