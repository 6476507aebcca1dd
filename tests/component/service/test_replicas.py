# SPDX-License-Identifier: Apache-2.0
"""Several services on one PostgreSQL: each sees what the others do, and none of them is needed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path

from muster.service.replay import check_store
from muster.service.store.open import open_store
from tests.component.service.processes import (
    Served,
    install,
    person,
    running,
    served,
    watched_hosts,
)
from tests.component.service.proofs import Onlooker, Proofs, installs_told, outcome
from tests.component.service.whole import Person, machines, play
from tests.postgres import Postgres

HOSTS = 12


@contextmanager
def replicas(folder: Path, database: str, count: int) -> Iterator[list[Served]]:
    """Services on one database, with keys in one place."""
    with ExitStack() as stack:
        yield [stack.enter_context(served(folder, "--database", database)) for _ in range(count)]


@asynccontextmanager
async def persons(folder: Path, services: list[Served]) -> AsyncIterator[list[Person]]:
    """One who is logged in at each of them."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(person(folder, each)) for each in services]


def test_hosts_of_several_replicas_become_one_cluster_though_one_is_killed(
    tmp_path: Path, postgres: Postgres
) -> None:
    database = postgres.url(postgres.create())

    async def scene() -> None:
        proofs = Proofs()
        with replicas(tmp_path, database, 3) as services:
            async with persons(tmp_path, services) as someone:
                cluster = await someone[0].make_cluster()
                onlooker = Onlooker(someone[1], cluster["id"])
                urls = [each.url for each in services]
                hosts = watched_hosts(someone[0], cluster["infra_env_id"], machines(HOSTS), *urls)
                async with hosts as (drive, witness), running(onlooker.follow()):

                    async def lose_one() -> None:
                        await witness.after(150, 60)
                        services[2].kill()

                    async with running(lose_one()) as losing:
                        done = await install(someone[0], cluster)
                        await losing
                    assert outcome(done) == ("installed", 100, {"installed"}, {"Done"}, 3, HOSTS)
                    assert outcome(await someone[1].cluster(cluster["id"])) == outcome(done)
            assert [each.end() for each in services[:2]] == [0, 0]
            for each in services:
                each.said()
        with closing(open_store(database)) as store:
            proofs.read(store)
            assert check_store(store) == []
        proofs.check(witness, onlooker)
        assert {len(steps) for steps in installs_told(witness.noted).values()} == {1}
        written = {loop.host.id: {each.path for each in loop.host.written} for loop in drive.loops}
        assert written == {host["id"]: {host["installation_disk_path"]} for host in done["hosts"]}

    play(scene, 300)
