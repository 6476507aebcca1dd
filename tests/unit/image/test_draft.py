# SPDX-License-Identifier: Apache-2.0
"""Copies that are begun ahead become images, or leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster.errors import ExternalError, Interrupted
from muster.image.copy import Saving
from muster.image.draft import Draft, start_draft
from muster.image.overlay import Overlay, Patch

BASE = bytes(range(256)) * 40_000
SAVING = Saving(0o640, durable=False)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "base.iso"
    path.write_bytes(BASE)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "site"
    path.mkdir()
    return path


@contextmanager
def begin(source: Path, folder: Path) -> Iterator[Draft]:
    with start_draft(source, folder) as draft:
        assert draft is not None
        yield draft


def test_a_draft_becomes_the_image(source: Path, folder: Path) -> None:
    overlay = Overlay.of(
        len(BASE), [Patch(100, b"changed", "a"), Patch(len(BASE), b"more", "b")], size=len(BASE) + 4
    )
    target = folder / "image.iso"
    target.write_bytes(b"old")
    told: list[int] = []
    with begin(source, folder) as draft:
        assert draft.finish(source, overlay, target, Saving(0o640, durable=True, progress=told.append))
    assert target.read_bytes() == BASE[:100] + b"changed" + BASE[107:] + b"more"
    assert target.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in folder.iterdir()] == ["image.iso"]
    assert told[-1] == overlay.size


def test_a_draft_that_is_not_needed_leaves_nothing(source: Path, folder: Path) -> None:
    with begin(source, folder):
        pass
    assert not list(folder.iterdir())
    with pytest.raises(RuntimeError), begin(source, folder):
        raise RuntimeError
    assert not list(folder.iterdir())


def test_a_draft_of_another_file_is_not_taken(source: Path, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.iso"
    other.write_bytes(BASE)
    with begin(source, folder) as draft:
        target = folder / "image.iso"
        assert not draft.finish(other, Overlay.of(len(BASE), []), target, SAVING)
        assert not draft.finish(source, Overlay.of(5, []), target, SAVING)
        source.write_bytes(BASE[::-1])
        assert not draft.finish(source, Overlay.of(len(BASE), []), target, SAVING)
        assert not target.exists()


def test_what_cannot_be_copied_is_not_begun(source: Path, folder: Path, tmp_path: Path) -> None:
    for wrong in ((tmp_path / "nothing", folder), (source, tmp_path / "nowhere")):
        with start_draft(*wrong) as draft:
            assert draft is None


def test_an_interrupt_while_it_begins_leaves_nothing(
    source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_args: object) -> bool:
        raise Interrupted

    monkeypatch.setattr("muster.image.draft.is_free", interrupt)
    with pytest.raises(Interrupted), start_draft(source, folder):
        pass
    assert not list(folder.iterdir())


def test_an_interrupt_is_not_taken_for_a_copy_that_is_impossible(
    source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_args: object) -> None:
        raise Interrupted

    monkeypatch.setattr("muster.image.draft.check_space", interrupt)
    with pytest.raises(Interrupted), start_draft(source, folder):
        pass


def test_an_error_of_the_copy_is_told(source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("muster.image.draft.copy_range", fail)
    monkeypatch.setattr("muster.image.draft.share_blocks", lambda *_: False)
    with begin(source, folder) as draft, pytest.raises(ExternalError, match="no space left"):
        draft.finish(source, Overlay.of(len(BASE), []), folder / "image.iso", SAVING)
    assert not list(folder.iterdir())
