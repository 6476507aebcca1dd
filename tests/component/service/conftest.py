# SPDX-License-Identifier: Apache-2.0
"""Stores of every kind."""

from __future__ import annotations

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
