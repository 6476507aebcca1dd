# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL that restarts, and several replicas that share it."""

from __future__ import annotations

import asyncio
import itertools
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any

import psycopg
import pytest

from muster.errors import UserError
from muster.service.committer import Committer
from muster.service.realm import Draft, Realm, fold
from muster.service.state import Host
from muster.service.store import link, listener
from muster.service.store.link import Address, Connection, Link, parse_address
from muster.service.store.port import ConflictError, Ears, StoreError, UnavailableError
from muster.service.store.postgres import PostgresStore
from muster.service.store.schema import load_steps
from tests.component.service.store.test_killed import check_all_is_there
from tests.postgres import Postgres, start_postgres
from tests.realms import begin, decide, make_host, rename

PATIENCE_S = 60


@pytest.fixture(scope="module")
def fragile() -> Iterator[Postgres]:
    """A server that tests may stop."""
    with start_postgres() as server:
        yield server


@pytest.fixture
def database(fragile: Postgres) -> str:
    return fragile.create()


def test_it_goes_on_after_a_restart(fragile: Postgres, database: str) -> None:
    """The first commit and the first read after it work, though their connections were lost."""
    with closing(PostgresStore(fragile.url(database))) as store:
        realm = Realm("c1")
        store.commit([begin(realm)])
        assert list(store.load()) == [realm]
        fragile.stop()
        fragile.start()
        store.commit([rename(realm, "b")])
        assert list(store.load()) == [realm]


def test_while_it_is_away_nothing_is_written(fragile: Postgres, database: str) -> None:
    with closing(PostgresStore(fragile.url(database))) as store:
        realm = Realm("c1")
        store.commit([begin(realm)])
        change = rename(realm, "b")
        fragile.stop("fast")
        try:
            for _ in range(3):
                with pytest.raises(UnavailableError) as caught:
                    store.commit([change])
                assert "127.0.0.1" in caught.value.message
                with pytest.raises(UnavailableError):
                    list(store.log())
        finally:
            fragile.start()
        _eventually(lambda: store.commit([change]))
        assert list(store.load()) == [realm]
        assert len(list(store.log())) == 2


def test_scrub_may_take_longer_than_other_statements(
    fragile: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_SETTINGS", "SET statement_timeout = '2s'")
    with closing(PostgresStore(fragile.url(database))) as store, fragile.ask(database) as backup:
        backup.execute("BEGIN; LOCK TABLE documents IN ACCESS SHARE MODE")
        release = threading.Timer(2.5, lambda: backup.execute("COMMIT"))
        release.start()
        store.scrub()
        release.join()
        with pytest.raises(UnavailableError, match="statement timeout"):
            store._select("SELECT pg_sleep(5)")


def _eventually(work: Callable[[], None]) -> None:
    """Try until the pause between attempts is over."""
    for _ in range(PATIENCE_S * 10):
        try:
            work()
        except UnavailableError:
            threading.Event().wait(0.1)
        else:
            return
    pytest.fail("it did not come back")


def cut_in_commit(monkeypatch: pytest.MonkeyPatch, server: Postgres, *, done: bool) -> None:
    """End the writer's session when it commits: before it is done, or after, when nobody was told yet."""
    real = psycopg.Connection.execute

    def execute(connection: Any, query: Any, *rest: Any) -> Any:
        if "write_batch" not in query:
            return real(connection, query, *rest)
        monkeypatch.undo()
        if done:
            real(connection, query, *rest)
        with server.ask("postgres") as admin:
            admin.execute("SELECT pg_terminate_backend(%s, 60000)", [connection.info.backend_pid])
        return real(connection, query, *rest)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)


@pytest.mark.parametrize("done", [True, False])
def test_a_connection_that_is_lost_while_it_commits(
    fragile: Postgres, database: str, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    """What was written counts as written, and what was not as not."""
    with closing(PostgresStore(fragile.url(database))) as store:
        realm = Realm("c1")
        store.commit([begin(realm)])
        cut_in_commit(monkeypatch, fragile, done=done)
        change = rename(realm, "b")
        if done:
            store.commit([change])
        else:
            with pytest.raises(UnavailableError):
                store.commit([change])
            store.commit([change])
        assert list(store.load()) == [realm]
        assert [each.version for each in store.log()] == [1, 2]


class Load:
    """Adds hosts all the time, as a service does: a realm of which something failed is loaded again."""

    def __init__(self, store: PostgresStore, clusters: int) -> None:
        self._store = store
        self._realms = {f"c{number}": Realm(f"c{number}") for number in range(clusters)}
        store.commit([begin(realm) for realm in self._realms.values()])
        self._committer = Committer(store)
        self._goes_on = True
        self.acknowledged: set[str] = set()
        self._more = asyncio.Condition()

    async def run(self, writers: int) -> None:
        async with asyncio.TaskGroup() as tasks:
            for who in range(writers):
                tasks.create_task(self._add(who))
        await self._committer.close()

    async def until_more(self, count: int) -> None:
        """Wait until so many more are acknowledged."""
        wanted = len(self.acknowledged) + count
        async with self._more:
            await self._more.wait_for(lambda: len(self.acknowledged) >= wanted)

    def end(self) -> None:
        self._goes_on = False

    async def _add(self, who: int) -> None:
        for number in itertools.count():
            if not self._goes_on:
                return
            id = f"c{(who + number) % len(self._realms)}"
            host = make_host(f"{who}-{number}")
            if self._committer.is_stale(id) and not self._load_again(id):
                await asyncio.sleep(0.02)
                continue
            try:
                await self._committer.commit([decide(self._realms[id], partial(_add, host))])
            except StoreError:
                continue
            async with self._more:
                self.acknowledged.add(host.id)
                self._more.notify_all()

    def _load_again(self, id: str) -> bool:
        if self._committer.pending(id) is not None:
            return False
        try:
            (self._realms[id],) = self._store.load(id)
        except StoreError:
            return False
        self._committer.renew(id)
        return True


def _add(host: Host, draft: Draft) -> None:
    draft.add(host)


async def test_restarts_under_load_lose_nothing(fragile: Postgres, database: str) -> None:
    with closing(PostgresStore(fragile.url(database))) as store:
        load = Load(store, clusters=4)

        async def restart() -> None:
            for mode in ("immediate", "fast", "immediate"):
                await load.until_more(20)
                await asyncio.to_thread(fragile.stop, mode)
                await asyncio.to_thread(fragile.start)
            await load.until_more(20)
            load.end()

        async with asyncio.timeout(2 * PATIENCE_S), asyncio.TaskGroup() as tasks:
            tasks.create_task(load.run(writers=8))
            tasks.create_task(restart())
        check_all_is_there(store, load.acknowledged)


def test_replicas_that_start_at_once_make_one_schema(fragile: Postgres, database: str) -> None:
    trouble: list[BaseException] = []

    def start() -> None:
        try:
            PostgresStore(fragile.url(database)).close()
        except StoreError as error:
            trouble.append(error)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trouble == []
    with fragile.ask(database) as admin:
        made = admin.execute("SELECT version FROM schema ORDER BY version").fetchall()
        assert made == [(number,) for number in range(1, len(load_steps("postgresql")) + 1)]


FIRST = load_steps("postgresql")
SECOND = ("ALTER TABLE realms ADD COLUMN note TEXT NOT NULL DEFAULT 'old'; CREATE TABLE extra (a TEXT)",)
BROKEN = ("CREATE TABLE half (a TEXT); CREATE TABLE realms (a TEXT)",)


def test_an_older_database_is_brought_forward(fragile: Postgres, database: str) -> None:
    url, realm = fragile.url(database), Realm("c1")
    with closing(PostgresStore(url)) as store:
        store.commit([begin(realm)])
    with pytest.raises(StoreError, match='relation "realms" already exists'):
        PostgresStore(url, steps=FIRST + BROKEN)
    with closing(PostgresStore(url, steps=FIRST + SECOND)) as store:
        assert list(store.load()) == [realm]
    with fragile.ask(database) as admin:
        assert admin.execute("SELECT note FROM realms").fetchall() == [("old",)]
        assert admin.execute("SELECT to_regclass('half')").fetchone() == (None,)
    with pytest.raises(UserError, match=rf"newer Muster \(schema {len(FIRST) + 1}; this one knows"):
        PostgresStore(url)


def test_a_user_who_may_not_write(fragile: Postgres, database: str) -> None:
    with fragile.ask(database) as admin:
        admin.execute("CREATE ROLE reader LOGIN PASSWORD 'hush'")
    url = f"postgresql://reader:hush@127.0.0.1:{fragile.port}/{database}"
    with pytest.raises(StoreError) as caught:
        PostgresStore(url)
    assert "permission denied" in caught.value.message
    assert "let the user of the URL create" in caught.value.hint


class Heard(queue.Queue[Mapping[str, int]]):
    """What a listener was told."""

    def next(self) -> Mapping[str, int]:
        return self.get(timeout=PATIENCE_S)


def test_replicas_hear_of_each_other(fragile: Postgres, database: str) -> None:
    with (
        closing(PostgresStore(fragile.url(database))) as first,
        closing(PostgresStore(fragile.url(database))) as second,
    ):
        heard, own = Heard(), Heard()
        first.listen(Ears(own.put))
        second.listen(Ears(heard.put))
        realm, other = Realm("c1"), Realm("c2")
        first.commit([begin(realm), begin(other), rename(realm, "b")])
        assert heard.next() == {"c1": 2, "c2": 1}
        (mine,) = second.load("c1")
        first.commit([rename(realm, "c")])
        assert heard.next() == {"c1": 3}
        mine.version, news = second.news("c1", mine.version)
        for each in news:
            fold(mine, each.event)
        assert mine == realm
        second.commit([rename(mine, "d")])
        assert own.next() == {"c1": 4}
        with pytest.raises(ConflictError):
            first.commit([rename(realm, "too late")])
        assert heard.empty()
        assert own.empty()


def test_who_lost_the_connection_is_told_of_everything(fragile: Postgres, database: str) -> None:
    with (
        closing(PostgresStore(fragile.url(database))) as first,
        closing(PostgresStore(fragile.url(database))) as second,
    ):
        realm = Realm("c1")
        first.commit([begin(realm), begin(Realm("c2"))])
        heard = Heard()
        second.listen(Ears(heard.put))
        fragile.stop()
        fragile.start()
        first.commit([rename(realm, "b")])
        seen: dict[str, int] = {}
        while seen != {"c1": 2, "c2": 1}:
            seen.update(heard.next())
        first.commit([rename(realm, "c")])
        assert heard.next() == {"c1": 3}


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Connection]:
    """Those that a listener makes, the newest last."""
    made: list[Connection] = []

    def connect(address: Address) -> Connection:
        made.append(link.connect(address))
        return made[-1]

    monkeypatch.setattr(listener, "connect", connect)
    return made


def test_a_listener_goes_on_after_it_was_cut_off_in_the_middle_of_a_question(
    fragile: Postgres, database: str, connections: list[Connection]
) -> None:
    with (
        closing(PostgresStore(fragile.url(database))) as first,
        closing(PostgresStore(fragile.url(database))) as second,
    ):
        heard, realm = Heard(), Realm("c1")

        def hear(news: Mapping[str, int]) -> None:
            if len(connections) == 1:  # In the listener's own thread: two must not use one connection.
                connections[0].pgconn.send_query(b"SELECT 1")  # Nobody takes the answer.
            heard.put(news)

        first.commit([begin(realm)])
        second.listen(Ears(hear))
        first.commit([rename(realm, "b")])
        assert heard.next() == {"c1": 2}
        assert heard.next() == {"c1": 2}, "as it listens anew, all is told again"
        first.commit([rename(realm, "c")])
        assert heard.next() == {"c1": 3}
        assert [each.closed for each in connections] == [True, False]


def test_a_connection_with_a_question_in_it_is_not_used_again(fragile: Postgres, database: str) -> None:
    with closing(Link(parse_address(fragile.url(database)))) as mine:
        with mine.use() as broken:
            broken.pgconn.send_query(b"SELECT 1")
        assert broken.closed
        with mine.use() as connection:
            assert connection.execute("SELECT 2").fetchone() == (2,)


def test_a_listener_ends_while_the_server_is_away(fragile: Postgres, database: str) -> None:
    store = PostgresStore(fragile.url(database))
    store.listen(Ears(lambda _: None))
    fragile.stop()
    try:
        store.close()
        assert "muster-listener" not in [thread.name for thread in threading.enumerate()]
    finally:
        fragile.start()


def test_someone_who_holds_the_lock_is_named(fragile: Postgres, database: str) -> None:
    """A session that stands still in a transaction is ended by the server, and the next one goes on."""
    with (
        closing(PostgresStore(fragile.url(database))) as store,
        fragile.ask(database) as admin,
    ):
        realm = Realm("c1")
        with store._writer.use() as connection:
            connection.execute("SET lock_timeout = '50ms'")
        admin.execute("BEGIN")
        admin.execute("SELECT pg_advisory_xact_lock(%s)", [0x6D7573746572])
        change = begin(realm)
        with pytest.raises(UnavailableError, match="lock timeout") as caught:
            store.commit([change])
        assert "pg_stat_activity" in caught.value.hint
        admin.execute("ROLLBACK")
        store.commit([change])
        assert list(store.load()) == [realm]
