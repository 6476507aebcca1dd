# SPDX-License-Identifier: Apache-2.0
"""The service's data on the disk of the host that serves: a copy of what is in use is whole."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.node import handing_over
from muster.node.handing_over import _copy, _copy_running


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


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Data of a service with three archives of logs, and an upload under way."""
    found = tmp_path / "live/host-logs/realm-a"
    found.mkdir(parents=True)
    (tmp_path / "live/site.json").write_text("{}")
    for name in ("logs-1.tar.gz", "logs-2.tar.gz", "logs-3.tar.gz", "logs-3.tar.gz.part"):
        (found / name).write_text(name)
    return found


def test_archives_that_arrive_or_vanish_while_they_are_copied_are_no_failure(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skipped, copy = handing_over._skipped, shutil.copy2
    (logs.parent / "realm-b").mkdir()

    def listed(folder: str, names: list[str]) -> list[str]:
        if "realm-b" in names:  # The cluster is deleted after its directory was seen.
            (logs.parent / "realm-b").rmdir()
        return skipped(folder, names)

    def copied(source: str, target: str) -> None:
        """One archive vanishes before it is opened, and another one while it is read."""
        if source.endswith(("logs-1.tar.gz", "logs-2.tar.gz")):
            if source.endswith("logs-2.tar.gz"):
                shutil.copyfile(source, target)
            Path(source).unlink()
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
        copy(source, target)

    monkeypatch.setattr(handing_over, "_skipped", listed)
    monkeypatch.setattr(shutil, "copy2", copied)
    _copy_running(tmp_path / "live", tmp_path / "disk/service")
    made = tmp_path / "disk/service/host-logs"
    assert [path.name for path in made.iterdir()] == ["realm-a"]
    assert [path.name for path in (made / "realm-a").iterdir()] == ["logs-3.tar.gz"]


@pytest.mark.parametrize("copy", [_copy, _copy_running])
def test_failure_names_a_file_and_how_many_more(
    tmp_path: Path, logs: Path, copy: Callable[[Path, Path], None]
) -> None:
    for name in ("logs-4.tar.gz", "logs-5.tar.gz"):
        os.mkfifo(logs / name)
    with pytest.raises(ExternalError) as no:
        copy(tmp_path / "live", tmp_path / "disk/service")
    assert "cannot be copied to" in no.value.message
    assert "is a named pipe and 1 more failures" in no.value.message
