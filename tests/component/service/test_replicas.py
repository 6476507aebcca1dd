# SPDX-License-Identifier: Apache-2.0
"""Several services on one PostgreSQL: each sees what the others do, and none of them is needed."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager
from datetime import timedelta
from pathlib import Path

from muster.service.replay import check_store
from muster.service.store.open import open_store
from tests.component.service.clocks import Clock
from tests.component.service.processes import (
    Served,
    install,
    person,
    running,
    served,
    until,
    watched_hosts,
)
from tests.component.service.proofs import Onlooker, Proofs, installs_told, outcome
from tests.component.service.whole import API, Person, Whole, come, machines, open_service, play
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
                    assert outcome(await until(someone[1], cluster["id"], "installed")) == outcome(done)
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

    play(scene)


@asynccontextmanager
async def two(folder: Path, database: str) -> AsyncIterator[tuple[Whole, Whole]]:
    """Two replicas in this process."""
    async with open_service(folder, database=database) as one, open_service(folder, database=database) as two:
        yield one, two


def test_what_one_replica_does_the_other_shows(tmp_path: Path, postgres: Postgres) -> None:
    async def scene() -> None:
        async with two(tmp_path, postgres.url(postgres.create())) as (one, other):
            cluster = await one.make_cluster(name="a")
            # At once: nobody may be told that what is there is not there.
            assert (await other.cluster(cluster["id"]))["name"] == "a"
            got = await other.ask("PATCH", f"/clusters/{cluster['id']}", {"name": "d"})
            assert got.status == 201, got.body
            await one.until(cluster["id"], lambda each: each["name"] == "d")
            assert (await one.ask("DELETE", f"/clusters/{cluster['id']}")).status == 204

            async def is_gone() -> bool:
                return (await other.ask("GET", f"/clusters/{cluster['id']}")).status == 404

            await come(is_gone)

    play(scene)


def test_changes_at_the_same_time_are_all_made(tmp_path: Path, postgres: Postgres) -> None:
    """Who was overtaken decides again, upon what is so now."""

    async def scene() -> None:
        async with two(tmp_path, postgres.url(postgres.create())) as sites:
            cluster = await sites[0].make_cluster()
            names = [f"manifest-{number}.yaml" for number in range(24)]

            async def add(number: int, name: str) -> None:
                body = {"file_name": name, "folder": "manifests", "content": "e30="}
                path = f"/clusters/{cluster['id']}/manifests"
                got = await sites[number % 2].ask("POST", path, body)
                while got.status == 503:
                    got = await sites[number % 2].ask("POST", path, body)
                assert got.status == 201, got.body

            await asyncio.gather(*(add(number, name) for number, name in enumerate(names)))
            await asyncio.gather(*(site.running.service.upkeep.catch_up_all() for site in sites))
            for site in sites:
                got = await site.ask("GET", f"/clusters/{cluster['id']}/manifests")
                assert sorted(each["file_name"] for each in got.json) == sorted(names)
            assert check_store(sites[0].running.store) == []

    play(scene)


def test_a_host_that_waits_at_another_replica_is_called(tmp_path: Path, postgres: Postgres) -> None:
    async def scene() -> None:
        async with two(tmp_path, postgres.url(postgres.create())) as (one, other):
            cluster = await one.make_cluster()
            async with watched_hosts(one, cluster["infra_env_id"], machines(3), other.url) as (_, witness):
                await one.until(cluster["id"], lambda each: each["status"] == "ready")
                await come(lambda: other.running.service.news.waiting == 3)
                noted = len(witness.noted)
                got = await one.ask("POST", f"/clusters/{cluster['id']}/actions/install")
                assert got.status == 202, got.body
                await witness.after(1, 4)  # They would wait for longer.
                assert len(witness.noted) > noted

    play(scene)


def test_people_who_follow_one_replica_hear_of_another(tmp_path: Path, postgres: Postgres) -> None:
    async def scene() -> None:
        async with two(tmp_path, postgres.url(postgres.create())) as (one, other):
            headers = {"Authorization": f"Bearer {other.token}"}
            url = f"{other.url}/api/assisted-install/v2/stream"
            async with other.session.get(url, headers=headers) as stream:
                await stream.content.readuntil(b"\n\n")
                cluster = await one.make_cluster()
                heard = await stream.content.readuntil(b"\n\n")
                body = json.loads(heard.partition(b"data: ")[2])
                assert body == {"realm": cluster["id"], "subjects": [f"cluster/{cluster['id']}"]}

    play(scene)


def test_a_deadline_is_decided_about_once(tmp_path: Path, postgres: Postgres) -> None:
    """Timers fire everywhere; who comes second finds that it is done."""

    async def scene() -> None:
        clock = Clock()
        database = postgres.url(postgres.create())
        async with (
            open_service(tmp_path, clock, database=database) as one,
            open_service(tmp_path, clock, database=database) as other,
        ):
            cluster = await one.make_cluster()
            async with one.hosts(cluster["infra_env_id"], machines(3), wait_s=0):
                await one.until(cluster["id"], lambda each: each["status"] == "ready")
            await other.running.service.upkeep.catch_up_all()
            services = [one.running.service, other.running.service]
            for service in services:  # Nobody set the clock: it is the time that passed.
                service.engine.heard = dict.fromkeys(service.engine.heard, clock() - timedelta(hours=1))
                service.engine.shift(timedelta(hours=-1))
            await asyncio.gather(*(service.pass_time() for service in services))
            await asyncio.gather(*(service.upkeep.catch_up_all() for service in services))
            for site in (one, other):
                found = await site.cluster(cluster["id"])
                assert {host["status"] for host in found["hosts"]} == {"disconnected"}
            lost = [
                each.event.id
                for each in one.running.store.log()
                if each.event.values.get("status") == "disconnected"
            ]
            assert len(lost) == len(set(lost)) == 3

    play(scene)


def test_a_host_that_one_replica_hears_is_silent_for_none(tmp_path: Path, postgres: Postgres) -> None:
    async def scene() -> None:
        async with two(tmp_path, postgres.url(postgres.create())) as (one, other):
            cluster = await one.make_cluster()
            async with one.hosts(cluster["infra_env_id"], machines(1), wait_s=0):
                await one.until(cluster["id"], lambda each: len(each["hosts"]) == 1)
            (id,) = one.running.engine.heard
            await other.running.service.upkeep.catch_up_all()
            before = other.running.engine.heard[id]
            one.running.service.upkeep.note(id)
            await one.running.service.upkeep.share()
            await come(lambda: other.running.engine.heard[id] > before)

    play(scene)


def test_logs_that_one_replica_gets_the_other_has(tmp_path: Path, postgres: Postgres) -> None:
    """They are in the database, in parts, and go with the cluster."""

    async def scene() -> None:
        async with two(tmp_path, postgres.url(postgres.create())) as (first, second):
            made = await first.make_cluster()
            host = machines(1)[0].host_id
            async with first.hosts(made["infra_env_id"], machines(1)):
                await first.until(made["id"], lambda each: bool(each.get("hosts")))
            query = f"/clusters/{made['id']}/logs?logs_type=host&host_id={host}"
            own = first.running.service.around.host_tokens.issue(made["infra_env_id"], host)
            headers = {"X-Secret-Key": own}
            body = b"x" * 2_500_000
            for sent in (b"before", body):
                async with first.session.post(
                    first.url + API + query, data=io.BytesIO(sent), headers=headers
                ) as got:
                    assert got.status == 204, await got.read()
            found = await second.ask("GET", query)
            assert (found.status, found.body) == (200, body)
            stored = first.running.store.documents(made["id"])
            assert sum(size for (subject, _), size in stored.items() if "#" in subject) == len(body)
            assert (await second.ask("DELETE", f"/clusters/{made['id']}")).status == 204
            assert not first.running.store.documents(made["id"])

    play(scene)
