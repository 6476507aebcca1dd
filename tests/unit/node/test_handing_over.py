# SPDX-License-Identifier: Apache-2.0
"""The service's data on the disk of the host that serves: a copy of what is in use is whole."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.node.handing_over import _copy_running


def rows(path: Path) -> list[tuple[int]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT number FROM events").fetchall()


def test_a_copy_has_what_is_only_in_the_journal_yet(tmp_path: Path) -> None:
    source, target = tmp_path / "live", tmp_path / "disk/service"
    (source / "keys").mkdir(parents=True)
    (source / "site.json").write_text("{}")
    (source / "keys/signing.pem").write_text("secret")
    with closing(sqlite3.connect(source / "muster.sqlite", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE events (number INTEGER)")
        for number in (1, 2):
            database.execute("INSERT INTO events VALUES (?)", (number,))
            _copy_running(source, target)
            assert rows(target / "muster.sqlite")[-1] == (number,)
    assert (target / "keys/signing.pem").read_text() == "secret"
    assert (target / "muster.sqlite").stat().st_mode & 0o077 == 0
    assert [path.name for path in target.parent.iterdir()] == ["service"]


def test_what_cannot_be_copied_is_told_and_leaves_the_copy_of_before(tmp_path: Path) -> None:
    source, target = tmp_path / "live", tmp_path / "disk/service"
    source.mkdir()
    (source / "site.json").write_text("{}")
    _copy_running(source, target)
    (source / "muster.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(ExternalError, match="cannot be copied"):
        _copy_running(source, target)
    assert (target / "site.json").exists()
