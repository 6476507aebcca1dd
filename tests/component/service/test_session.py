# SPDX-License-Identifier: Apache-2.0
"""`aicli` and hosts against `muster serve`, on every kind of database, until the cluster is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.component.service.processes import served
from tests.component.service.proofs import outcome
from tests.component.service.session import spend_a_day
from tests.component.service.whole import play
from tests.postgres import Postgres

HOSTS = 5


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_day_with_aicli(tmp_path: Path, database: str, request: pytest.FixtureRequest) -> None:
    options: tuple[str, ...] = ()
    if database == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        options = ("--database", server.url(server.create()))

    async def scene() -> None:
        with served(tmp_path, *options) as service:
            done = await spend_a_day(tmp_path, service, HOSTS)
            assert outcome(done) == ("installed", 100, {"installed"}, {"Done"}, 3, HOSTS)
            assert service.end() == 0
            service.said()

    play(scene)
