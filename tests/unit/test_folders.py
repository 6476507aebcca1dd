# SPDX-License-Identifier: Apache-2.0
"""Folders appear as a whole, together, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.folders import make_folder, put_files, remove_parts, start_batch


def test_folders_appear_together(tmp_path: Path) -> None:
    with start_batch(tmp_path) as batch:
        for name in ("a", "b"):
            with batch.new_folder(name) as folder:
                put_files(folder, {"x": b"1", "auth/y": b"2"}, mode=0o600)
        assert not (tmp_path / "a").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert (tmp_path / "b/auth/y").read_bytes() == b"2"
    assert (tmp_path / "b/auth/y").stat().st_mode & 0o777 == 0o600


def test_one_that_fails_does_not_hinder_the_others(tmp_path: Path) -> None:
    with start_batch(tmp_path) as batch:
        with batch.new_folder("a") as folder:
            put_files(folder, {"x": b"1"}, mode=0o600)
        with pytest.raises(ExternalError, match="cannot write"), batch.new_folder("b") as folder:
            put_files(folder, {"x": b"1", "./x": b"1"}, mode=0o600)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_nothing_is_left_of_a_batch_that_was_interrupted(tmp_path: Path) -> None:
    def interrupted() -> None:
        with start_batch(tmp_path) as batch:
            with batch.new_folder("a"):
                pass
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/mine").touch()

    def replace() -> None:
        with start_batch(tmp_path) as batch, batch.new_folder("a"):
            pass

    with pytest.raises(ExternalError):
        replace()
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "mine"]


def test_parts_of_earlier_runs_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".site.0123abcd.part/auth").mkdir(parents=True)
    for other in (".site.part", "site.0123abcd.part", ".cache"):
        (tmp_path / other).mkdir()
    remove_parts(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".cache", ".site.part", "site.0123abcd.part"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ExternalError, match="cannot make"):
        make_folder(tmp_path / "file/below")
    make_folder(tmp_path / "a/b")
    make_folder(tmp_path / "a/b")
