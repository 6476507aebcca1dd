# SPDX-License-Identifier: Apache-2.0
"""Writing images: all of it, once, and never half of it."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from muster.errors import ExternalError, MediaError
from muster.image.copy import Saving, write_image, write_stream
from muster.image.overlay import Overlay, Patch

BASE = bytes(range(256)) * 20000
OVERLAY = Overlay.of(
    len(BASE),
    [Patch(5000, b"x" * 3000, "area"), Patch(len(BASE) + 4096, b"end", "tail")],
    size=len(BASE) + 9000,
)
EXPECTED = BASE[:5000] + b"x" * 3000 + BASE[8000:] + bytes(4096) + b"end" + bytes(9000 - 4099)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "base.iso"
    path.write_bytes(BASE)
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "out" / "result.iso"
    path.parent.mkdir()
    path.write_bytes(b"old")
    return path


def refuse(number: int) -> object:
    def function(*_args: object) -> int:
        raise OSError(number, os.strerror(number))

    return function


@pytest.mark.parametrize("durable", [True, False])
def test_the_result_is_the_base_with_its_overlay(source: Path, target: Path, durable: bool) -> None:
    told: list[int] = []
    write_image(source, OVERLAY, target, Saving(mode=0o640, durable=durable, progress=told.append))
    assert target.read_bytes() == EXPECTED
    assert target.stat().st_mode & 0o777 == 0o640
    assert source.read_bytes() == BASE
    assert told == sorted(told)
    assert told[-1] == len(EXPECTED)
    assert [path.name for path in target.parent.iterdir()] == ["result.iso"]


@pytest.mark.parametrize("number", [errno.EXDEV, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_help_of_the_kernel(
    source: Path, target: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(os, "copy_file_range", refuse(number))
    write_image(source, OVERLAY, target)
    assert target.read_bytes() == EXPECTED


def test_with_blocks_that_are_shared(source: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def clone(file: int, _request: int, base: int) -> None:
        os.pwrite(file, os.pread(base, len(BASE), 0), 0)

    monkeypatch.setattr(fcntl, "ioctl", clone)
    monkeypatch.setattr(os, "copy_file_range", refuse(errno.EIO))
    write_image(source, OVERLAY, target)
    assert target.read_bytes() == EXPECTED
    shorter = Overlay.of(len(BASE), [Patch(10, b"y", "area")], size=1000)
    write_image(source, shorter, target)
    assert target.read_bytes() == BASE[:10] + b"y" + BASE[11:1000]


def test_what_is_patched_is_not_copied_first(
    source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[tuple[int, int]] = []
    real = os.copy_file_range

    def spy(base: int, file: int, length: int, at: int, to: int) -> int:
        done = real(base, file, length, at, to)
        copied.append((at, done))
        return done

    monkeypatch.setattr(os, "copy_file_range", spy)
    write_image(source, OVERLAY, target)
    assert sum(length for _, length in copied) == len(BASE) - 3000


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), MemoryError()]
)
@pytest.mark.parametrize("where", ["copy_file_range", "pwrite", "fsync", "ftruncate"])
def test_a_failure_leaves_the_old_file(
    source: Path, target: Path, monkeypatch: pytest.MonkeyPatch, where: str, error: BaseException
) -> None:
    def fail(*_args: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(os, where, fail)
        with pytest.raises((ExternalError, KeyboardInterrupt, MemoryError)) as caught:
            write_image(source, OVERLAY, target)
    if isinstance(caught.value, ExternalError):
        assert "no space left on device" in caught.value.message
        assert "free some space" in caught.value.hint
    assert target.read_bytes() == b"old"
    assert [path.name for path in target.parent.iterdir()] == ["result.iso"]


def test_too_little_space_is_said_before(source: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _path: SimpleNamespace(f_bavail=2, f_frsize=1 << 20))
    monkeypatch.setattr(os, "copy_file_range", refuse(errno.EIO))
    with pytest.raises(ExternalError, match="needs 4 MiB, and 2 MiB are free") as caught:
        write_image(source, OVERLAY, target)
    assert "free 3 MiB" in caught.value.hint
    assert target.read_bytes() == b"old"


def test_a_base_that_changed_is_refused(source: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MediaError, match=r"has 5120000 bytes now, and had 3"):
        write_image(source, Overlay(3, 3), target)
    monkeypatch.setattr(os, "copy_file_range", lambda *_args: 0)
    with pytest.raises(MediaError, match="became shorter while it was copied"):
        write_image(source, OVERLAY, target)
    with pytest.raises(ExternalError, match="no such file"):
        write_image(source.with_name("none"), OVERLAY, target)
    assert target.read_bytes() == b"old"


def test_a_link_stays_one(source: Path, target: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.iso"
    link.symlink_to(target)
    write_image(source, OVERLAY, link)
    assert link.is_symlink()
    assert target.read_bytes() == EXPECTED


def test_the_base_itself_can_be_replaced(source: Path) -> None:
    write_image(source, OVERLAY, source)
    assert source.read_bytes() == EXPECTED


def test_a_stream(target: Path) -> None:
    data = BASE[: (1 << 20) + 5]
    write_stream(lambda offset, length: data[offset : offset + length], len(data), target)
    assert target.read_bytes() == data
