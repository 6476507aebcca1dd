# SPDX-License-Identifier: Apache-2.0
"""Stores of every kind, and tests that are coroutines."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeAlias

import pytest

from muster.service.store.memory import MemoryStore
from muster.service.store.open import open_store
from muster.service.store.port import Store
from tests.postgres import Postgres, start_postgres

Reopen: TypeAlias = Callable[[], Store]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine gets an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server for all tests."""
    with start_postgres() as server:
        yield server


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    """Opens the same store each time, beside those that are open already."""
    where: str | Path = tmp_path
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        where = server.url(server.create())
    memory = MemoryStore() if request.param == "memory" else None
    with ExitStack() as opened:
        yield lambda: memory or opened.enter_context(closing(open_store(where)))


@pytest.fixture
def store(reopen: Reopen) -> Store:
    """An empty store."""
    return reopen()
