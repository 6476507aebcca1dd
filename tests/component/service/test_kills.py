# SPDX-License-Identifier: Apache-2.0
"""The service is killed again and again while hosts are installed: nothing that was answered is lost.

pytest tests/component/service/test_kills.py --kills 200
"""

from __future__ import annotations

import asyncio
import math
import shutil
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from muster.service.replay import check_store
from muster.service.store.open import open_store
from tests.component.service.processes import (
    Served,
    Witness,
    install,
    person,
    running,
    served,
    watched_hosts,
)
from tests.component.service.proofs import Onlooker, Proofs, installs_told, outcome
from tests.component.service.whole import machines, play

HOSTS = 50
A_ROUND = 25
"""So many kills fit into one installation."""
ANSWERS = 130
"""At most so many between two kills: all together are about as many as an installation takes."""
STARTING = 0.15
"""How many kills come before the service is up."""
PATIENCE_S = 3.0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """As many installations as the kills take that are asked for."""
    if "kills" in metafunc.fixturenames:
        asked: int = metafunc.config.getoption("--kills")
        rounds = math.ceil(asked / A_ROUND)
        each = [min(A_ROUND, asked - A_ROUND * number) for number in range(rounds)]
        metafunc.parametrize(("seed", "kills"), list(enumerate(each)))


class Killer:
    """Kills a service at moments that a seed decides, looks at what it left, and starts it again."""

    def __init__(self, folder: Path, service: Served, seed: int, proofs: Proofs) -> None:
        self._folder, self._service, self._proofs = folder, service, proofs
        self._random = Random(seed)

    async def run(self, kills: int, witness: Witness, onlooker: Onlooker) -> None:
        """Kill it so often; in the end it runs."""
        for number in range(kills):
            await self._wait(witness)
            self._service.kill()
            self._look(number, witness, onlooker)
            self._service.start()
        await self._service.up()

    async def _wait(self, witness: Witness) -> None:
        """Until any moment: while it starts, or after any number of answers, or when nobody asks anything."""
        if self._random.random() < STARTING:
            await asyncio.sleep(self._random.random())
            return
        await witness.after(self._random.randrange(ANSWERS), PATIENCE_S)
        await asyncio.sleep(self._random.random() * 0.02)

    def _look(self, number: int, witness: Witness, onlooker: Onlooker) -> None:
        """What is on the disk now, without changing anything there."""
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for path in self._service.data.glob("muster.sqlite*"):
            shutil.copy(path, copy)
        with closing(open_store(copy)) as store:
            self._proofs.read(store)
            if number % 10 == 0:
                assert check_store(store) == []
        self._proofs.check(witness, onlooker)


def test_kills_lose_nothing_that_was_answered(tmp_path: Path, seed: int, kills: int) -> None:
    async def scene() -> None:
        proofs = Proofs()
        with served(tmp_path) as service:
            async with person(tmp_path, service) as someone:
                cluster = await someone.make_cluster()
                onlooker = Onlooker(someone, cluster["id"])
                hosts = watched_hosts(someone, cluster["infra_env_id"], machines(HOSTS))
                async with hosts as (drive, witness), running(onlooker.follow()):
                    killer = Killer(tmp_path, service, seed, proofs)
                    async with running(killer.run(kills, witness, onlooker)) as killing:
                        done = await install(someone, cluster)
                        await killing
                    done = await someone.cluster(cluster["id"])
            assert service.end() == 0
            with closing(open_store(service.data)) as store:
                proofs.read(store)
                assert check_store(store) == []
            proofs.check(witness, onlooker)
            service.said()
        assert outcome(done) == ("installed", 100, {"installed"}, {"Done"}, 3, HOSTS)
        told = installs_told(witness.noted)
        assert {len(steps) for steps in told.values()} == {1}
        written = {loop.host.id: {each.path for each in loop.host.written} for loop in drive.loops}
        assert written == {host["id"]: {host["installation_disk_path"]} for host in done["hosts"]}

    play(scene)
