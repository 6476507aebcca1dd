# SPDX-License-Identifier: Apache-2.0
"""A look at a store writes nothing, sees what is committed meanwhile, and says what is not a store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from muster.errors import MusterError
from muster.service.realm import Realm
from muster.service.replay import check_store
from muster.service.store.looking import look_at
from muster.service.store.open import FILE, open_store
from muster.service.store.port import StoreError, Wanted
from tests.postgres import Postgres
from tests.realms import begin, rename


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """A place for a store, with nothing in it yet."""
    if request.param == "sqlite":
        return tmp_path
    server: Postgres = request.getfixturevalue("postgres")
    return server.url(server.create())


def test_it_sees_what_is_committed_while_it_looks(where: str | Path) -> None:
    realm = Realm("c1")
    with closing(open_store(where)) as store:
        store.commit([begin(realm, hosts=2)])
        with closing(look_at(where)) as look:
            before = look.last()
            assert list(look.load()) == [realm]
            store.commit([rename(realm, "other")])
            assert look.last() > before
            assert list(look.load("c1")) == [realm]
            assert [each.version for each in look.log("c1")] == [1, 1, 1, 2]
            assert [each.event.name for each in look.told(Wanted())] == ["cluster_registration_succeeded"]
            assert check_store(look) == check_store(look, "c1") == []
            store.commit([rename(realm, "third")])


def test_it_cannot_write(where: str | Path) -> None:
    with closing(open_store(where)) as store:
        store.commit([begin(Realm("c1"))])
    with closing(look_at(where)) as look, pytest.raises(StoreError, match="only looked at"):
        look.commit([begin(Realm("c2"))])
    with closing(open_store(where)) as store:
        assert [realm.id for realm in store.load()] == ["c1"]


def test_a_service_that_ended_leaves_a_file_that_can_be_looked_at(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)) as store:
        store.commit([begin(Realm("c1"))])
    before = (tmp_path / FILE).read_bytes()
    with closing(look_at(f"sqlite://{tmp_path / FILE}")) as look:
        assert look.last() > 0
    assert (tmp_path / FILE).read_bytes() == before


def test_what_is_not_there_is_not_made(tmp_path: Path) -> None:
    for place in (tmp_path / "none", tmp_path / "none" / "deeper"):
        with pytest.raises(MusterError, match="there is no database at"):
            look_at(place)
        assert not place.exists()
    with pytest.raises(MusterError, match="is no database that Muster can use"):
        look_at("mysql://db.example.com/x")


def test_what_is_no_store_is_left_as_it_is(where: str | Path) -> None:
    if isinstance(where, Path):
        with closing(sqlite3.connect(where / FILE)) as db:
            db.execute("CREATE TABLE other (x)")
    with pytest.raises(MusterError, match="has no log of Muster in it"):
        look_at(where)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"something else, and long enough to be looked at" * 100)
    with pytest.raises(StoreError, match="not a database"):
        look_at(tmp_path)


@pytest.mark.parametrize(("version", "message"), [(1000, "written by a newer Muster"), (0, "has no log")])
def test_other_versions(where: str | Path, version: int, message: str) -> None:
    open_store(where).close()
    if isinstance(where, Path):
        with closing(sqlite3.connect(where / FILE)) as db:
            db.execute(f"PRAGMA user_version={version}")
    else:
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute("UPDATE schema SET version = %s", [version])
    with pytest.raises(MusterError, match=message):
        look_at(where)
