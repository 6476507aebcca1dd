# SPDX-License-Identifier: Apache-2.0
"""Which store a name opens, and what is said when it cannot be."""

from __future__ import annotations

import builtins
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from muster.errors import ExternalError, MusterError, UserError
from muster.service.realm import Realm
from muster.service.store.open import FILE, open_store
from muster.service.store.port import UnavailableError
from tests.postgres import Postgres
from tests.realms import begin


@pytest.mark.parametrize("form", ["{}", "sqlite://{}/muster.sqlite", "sqlite:///{}/muster.sqlite"])
def test_sqlite(tmp_path: Path, form: str) -> None:
    with closing(open_store(form.format(tmp_path))) as store:
        store.commit([begin(Realm("c1"))])
    with closing(open_store(tmp_path)) as store:
        assert [realm.id for realm in store.load()] == ["c1"]


@pytest.mark.parametrize(
    "url",
    ["sqlite://", "sqlite:///", "sqlite://relative/file", "sqlite:///a?mode=ro", "mysql://u:hush@h/d", "://"],
)
def test_no_store(url: str) -> None:
    with pytest.raises(UserError) as caught:
        open_store(url)
    assert caught.value.hint
    assert "hush" not in caught.value.message


def test_a_file_in_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ExternalError) as caught:
        open_store(tmp_path / "file")
    assert str(tmp_path / "file") in caught.value.message
    with pytest.raises(ExternalError):
        open_store(f"sqlite://{tmp_path}/none/muster.sqlite")
    (tmp_path / "folder" / FILE).mkdir(parents=True)
    with pytest.raises(ExternalError):
        open_store(tmp_path / "folder")


def test_a_server_that_is_not_there(postgres: Postgres) -> None:
    with pytest.raises(UnavailableError) as caught:
        open_store("postgresql://me:hush@127.0.0.1:9/sites")
    assert "PostgreSQL sites at 127.0.0.1:9" in caught.value.message
    assert "see that PostgreSQL runs" in caught.value.hint
    assert "hush" not in caught.value.message


def test_a_wrong_login(postgres: Postgres) -> None:
    with pytest.raises(UnavailableError) as caught:
        open_store(postgres.url("postgres", password="hush"))
    assert "password authentication failed" in caught.value.message
    assert "hush" not in caught.value.message


def test_no_such_database(postgres: Postgres) -> None:
    with pytest.raises(UnavailableError, match='database "none" does not exist'):
        open_store(postgres.url("none"))


@pytest.mark.parametrize(
    "url", ["postgresql://me:hu@sh@h/d", "postgresql://me:hush@h:hush/d", "postgresql://me:hush@h/d?hush=1"]
)
def test_a_url_that_cannot_be_read_shows_no_password(url: str) -> None:
    with pytest.raises(MusterError) as caught:
        open_store(url)
    assert "hush" not in caught.value.message + caught.value.hint
    assert "sh@h" not in caught.value.message


def test_a_database_that_cannot_hold_every_name(postgres: Postgres) -> None:
    name = postgres.create("ENCODING LATIN1 TEMPLATE template0")
    with pytest.raises(UserError) as caught:
        open_store(postgres.url(name))
    assert "LATIN1" in caught.value.message
    assert "UTF8" in caught.value.hint


def test_without_psycopg_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [name for name in sys.modules if name.startswith("muster.service.store.")]
    for name in [*ours, "psycopg"]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    real = builtins.__import__

    def no_psycopg(name: str, *rest: Any) -> Any:
        if name.startswith("psycopg"):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", no_psycopg)
    with pytest.raises(UserError) as caught:
        open_store("postgresql://h/d")
    assert "psycopg" in caught.value.message
    assert "muster[postgresql]" in caught.value.hint
