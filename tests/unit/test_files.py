# SPDX-License-Identifier: Apache-2.0
"""Writing files so that nothing is half-written or lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muster.errors import ExternalError, UserError
from muster.files import back_up, lock_folder, save_file, save_new_file


def test_save_replaces_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "f"
    save_file(path, b"one", mode=0o600)
    save_file(path, b"two", mode=0o600)
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["f"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ExternalError, match="no space left on device") as caught:
        save_file(path, b"new")
    assert "free some space" in caught.value.hint
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


def test_a_new_file_never_replaces_one(tmp_path: Path) -> None:
    path = tmp_path / "f"
    assert save_new_file(path, b"one")
    assert not save_new_file(path, b"two")
    assert path.read_bytes() == b"one"
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


def test_backups_take_a_free_name(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one")
    path.chmod(0o640)
    assert back_up(path).name == "f.bak"
    save_file(path, b"two", mode=0o640)
    assert back_up(path).name == "f.bak.1"
    assert (tmp_path / "f.bak").read_bytes() == b"one"
    assert (tmp_path / "f.bak.1").stat().st_mode & 0o777 == 0o640


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(ExternalError, match="cannot write"):
        save_file(tmp_path / "f" / "g", b"")


def test_a_folder_has_one_maker_at_a_time(tmp_path: Path) -> None:
    with (
        lock_folder(tmp_path),
        pytest.raises(UserError, match="another muster is making something"),
        lock_folder(tmp_path),
    ):
        pass
    with lock_folder(tmp_path):
        pass
