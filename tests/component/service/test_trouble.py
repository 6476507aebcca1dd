# SPDX-License-Identifier: Apache-2.0
"""What goes wrong around a service: it says so, stays up, and goes on where it was when that is over."""

from __future__ import annotations

import asyncio
import sqlite3
import ssl
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from muster.lab.sim.over_http import Target, make_context
from muster.service.refusals import Outdated
from muster.service.replay import check_store
from muster.service.store.sqlite import SqliteStore
from tests.component.service.clocks import Clock
from tests.component.service.garbage import Garbage, stall
from tests.component.service.processes import install, person, running, served, watched_hosts
from tests.component.service.proofs import Onlooker, Proofs, installs_told, outcome
from tests.component.service.whole import PULL_SECRET, Answer, Whole, machines, open_service, play
from tests.postgres import Postgres, start_postgres

YEAR = timedelta(days=365)


async def rename(site: Whole, cluster: dict[str, Any], name: str) -> Answer:
    return await site.ask("PATCH", f"/clusters/{cluster['id']}", {"name": name})


async def make_another(site: Whole) -> Answer:
    params = {"name": "b", "openshift_version": site.version, "pull_secret": PULL_SECRET}
    return await site.ask("POST", "/clusters", params)


async def check_is_up(site: Whole, *, can_write: bool = True, reason: str = "") -> None:
    got = await site.ask("GET", "/health")
    assert got.status == 200, got.body
    got = await site.ask("GET", "/ready")
    assert got.status == (200 if can_write else 503), got.body
    assert reason in got.json["status"]
    assert "/" not in got.json["status"]


def writer_of(site: Whole) -> sqlite3.Connection:
    store = site.running.store.inner
    assert isinstance(store, SqliteStore)
    return store._writer


def test_a_full_disk_is_told_and_nothing_of_it_is_shown(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            cluster = await site.make_cluster()
            async with site.hosts(cluster["infra_env_id"], machines(3)):
                await site.until(cluster["id"], lambda each: each["status"] == "ready")
                db = writer_of(site)
                (pages,) = db.execute("PRAGMA page_count").fetchone()
                db.execute(f"PRAGMA max_page_count={pages + 16}")
                names = [f"{'long' * 10}-{number}" for number in range(60)]
                told = [await rename(site, cluster, name) for name in names]
                assert {each.status for each in told} == {201, 503}
                assert "free some space" in told[-1].json["reason"]
                kept = [name for name, each in zip(names, told, strict=True) if each.status == 201]
                assert (await site.cluster(cluster["id"]))["name"] == kept[-1]
                more = {(await make_another(site)).status for _ in range(20)}
                assert 503 in more <= {201, 503}
                await check_is_up(site, can_write=False, reason="free some space on its disk")
                db.execute("PRAGMA max_page_count=1073741823")
                # A change that was decided upon one of a host that is failing still fails with it.
                while (got := await rename(site, cluster, "after")).status != 201:
                    assert got.status == 503, got.body
                await check_is_up(site)
                done = await install(site, cluster)
            assert outcome(done) == ("installed", 100, {"installed"}, {"Done"}, 3, 3)
            assert check_store(site.running.store) == []

    play(scene)


def test_what_is_durable_is_answered_although_what_came_after_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            cluster, service = await site.make_cluster(), site.running.service
            settle, asked = service.settle, []

            async def outdated_once(realm: str) -> None:
                asked.append(realm)
                if len(asked) == 1:
                    raise Outdated("what was to be shown was not written", hint="ask again")
                await settle(realm)

            monkeypatch.setattr(service, "settle", outdated_once)
            got = await rename(site, cluster, "b")
            assert (got.status, got.json["name"], len(asked)) == (201, "b", 2)

    play(scene)


def test_a_database_that_somebody_else_holds_is_told(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            cluster = await site.make_cluster()
            writer_of(site).execute("PRAGMA busy_timeout=100")
            with closing(sqlite3.connect(tmp_path / "data" / "muster.sqlite")) as other:
                other.execute("BEGIN IMMEDIATE")
                got = await rename(site, cluster, "b")
                assert got.status == 503
                assert "end the other program" in got.json["reason"]
                assert (await site.cluster(cluster["id"]))["name"] == "alpha"
                await check_is_up(site, can_write=False, reason="it is not available")
                other.rollback()
            assert (await rename(site, cluster, "b")).status == 201
            await check_is_up(site)
            assert (await site.cluster(cluster["id"]))["name"] == "b"

    play(scene)


@pytest.fixture
def fragile() -> Iterator[Postgres]:
    """A server that nobody else uses."""
    with start_postgres() as server:
        yield server


def test_a_restart_of_postgresql_under_load_loses_nothing(tmp_path: Path, fragile: Postgres) -> None:
    async def scene() -> None:
        async with open_service(tmp_path, database=fragile.url(fragile.create())) as site:
            cluster, proofs = await site.make_cluster(), Proofs()
            onlooker = Onlooker(site, cluster["id"])
            hosts = watched_hosts(site, cluster["infra_env_id"], machines(8))
            async with hosts as (drive, witness), running(onlooker.follow()):

                async def restart() -> None:
                    for mode in ("immediate", "fast"):
                        await witness.after(100, 20)
                        await asyncio.to_thread(fragile.stop, mode)
                        got = await make_another(site)
                        assert got.status == 503
                        assert "PostgreSQL" in got.json["reason"]
                        up = await site.ask("GET", "/health")
                        assert up.status == 200
                        await asyncio.to_thread(fragile.start)

                async with running(restart()) as restarting:
                    done = await install(site, cluster)
                    await restarting
            proofs.read(site.running.store)
            proofs.check(witness, onlooker)
            assert check_store(site.running.store) == []
        assert outcome(done) == ("installed", 100, {"installed"}, {"Done"}, 3, 8)
        assert {len(steps) for steps in installs_told(witness.noted).values()} == {1}
        assert drive.loops

    play(scene)


def left(cluster: dict[str, Any], site: Whole, clock: Clock) -> timedelta:
    """How much time the cluster has."""
    waiting = site.running.engine.cluster(cluster["id"]).waiting
    assert waiting is not None
    assert waiting.until is not None
    return waiting.until - clock()


@pytest.mark.parametrize("jump", [YEAR, -YEAR], ids=["forward", "back"])
def test_nobody_runs_out_of_time_because_the_clock_was_set(tmp_path: Path, jump: timedelta) -> None:
    """Tokens expire by the clock, so hosts are refused while it is a year ahead: they come again after it."""

    async def scene() -> None:
        clock = Clock()
        async with open_service(tmp_path, clock) as site:
            cluster = await site.make_cluster()
            async with site.hosts(cluster["infra_env_id"], machines(3)):
                await site.until(cluster["id"], lambda each: each["status"] == "ready")
            before = left(cluster, site, clock)
            clock.ahead = jump
            log_in_anew(site, clock)
            await check_is_up(site)
            found = await site.cluster(cluster["id"])
            assert {host["status"] for host in found["hosts"]} == {"known"}
            assert abs(before - left(cluster, site, clock)) < timedelta(minutes=5)
            await site.running.service.pass_time()
            assert (await site.cluster(cluster["id"]))["status"] == "ready"
            events = (await site.ask("GET", f"/events?cluster_id={cluster['id']}")).json
            assert "service_clock_moved" in {each["name"] for each in events}
            clock.ahead = timedelta()
            log_in_anew(site, clock)
            async with site.hosts(cluster["infra_env_id"], machines(3)):
                done = await install(site, cluster)
            assert outcome(done) == ("installed", 100, {"installed"}, {"Done"}, 3, 3)
            assert check_store(site.running.store) == []

    play(scene)


def log_in_anew(site: Whole, clock: Clock) -> None:
    site.token = site.running.login.make_session(clock().timestamp()).token


def test_an_installation_goes_on_when_the_clock_is_set_in_the_middle_of_it(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        async with open_service(tmp_path, clock) as site:
            cluster = await site.make_cluster()
            hosts = watched_hosts(site, cluster["infra_env_id"], machines(3))
            async with hosts as (_, witness):

                async def set_clock() -> None:
                    await site.until(cluster["id"], lambda each: each["status"] == "installing")
                    for days in (20, -20, 0):
                        await witness.after(5, 5)
                        clock.ahead = timedelta(days=days)
                        log_in_anew(site, clock)

                async with running(set_clock()) as setting:
                    done = await install(site, cluster)
                    await setting
            assert outcome(done) == ("installed", 100, {"installed"}, {"Done"}, 3, 3)

    play(scene)


def test_the_time_without_a_service_counts_for_nobody(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        async with open_service(tmp_path, clock) as site:
            cluster = await site.make_cluster()
            async with site.hosts(cluster["infra_env_id"], machines(3)):
                await site.until(cluster["id"], lambda each: each["status"] == "ready")
            before = left(cluster, site, clock)
        for away in (timedelta(hours=5), timedelta(days=-100)):
            clock.ahead = away
            async with open_service(tmp_path, clock) as site:
                assert abs(before - left(cluster, site, clock)) < timedelta(minutes=5)
                await site.running.service.pass_time()
                assert (await site.cluster(cluster["id"]))["status"] == "ready"

    play(scene)


REQUESTS = 10_000
GROWS_AT_MOST = 16 << 20
"""In the second half of them: what so many at once take is taken once. Their bodies are much more."""


def test_garbage_is_refused_and_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scene() -> None:
        with served(tmp_path) as service:
            async with person(tmp_path, service) as someone:
                cluster = await someone.make_cluster()
                context = make_context(Target(url="", infra_env_id="", insecure=True))
                assert isinstance(context, ssl.SSLContext)
                agent = someone.agent_token(cluster["infra_env_id"])
                garbage = Garbage(service.port, context, agent, cluster["infra_env_id"], seed=1)
                slow = await stall(service.port, context, 100)
                sizes = []
                while garbage.sent < REQUESTS:
                    work = [garbage.well_formed(100) for _ in range(8)]
                    work += [garbage.noise() for _ in range(150)]
                    work += [garbage.broken() for _ in range(50)]
                    await asyncio.gather(*work)
                    assert (await someone.ask("GET", "/health")).status == 200
                    sizes.append(service.resident_bytes)
                for writer in slow:
                    writer.transport.abort()
                # So many that a person at this address may have to wait, too.
                await asyncio.sleep(1)
                found = await someone.cluster(cluster["id"])
                assert (found["status"], found["hosts"]) == ("pending-for-input", [])
            assert service.end() == 0
            service.said()
        assert garbage.answers[400] > REQUESTS / 10
        assert not {status for status in garbage.answers if status >= 500}
        assert sizes[-1] - sizes[len(sizes) // 2] < GROWS_AT_MOST, sizes

    play(scene)
