# SPDX-License-Identifier: Apache-2.0
"""What is on the disk is compared with the image, byte by byte."""

from __future__ import annotations

import asyncio
import shutil
import threading
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.node import check
from muster.node.check import Difference, check_written, compare
from muster.node.gpt import read_table
from muster.node.pace import Seen
from tests.component.node_installer.images import LAYOUT, MIB, loop_device, offset_of


@pytest.fixture
def disk(image: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(image, tmp_path / "disk"))


def change(path: Path, offset: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        (old,) = file.read(1)
        file.seek(offset)
        file.write(bytes([old ^ 1]))


def test_the_table_is_read_as_it_was_made(image: Path) -> None:
    data = image.read_bytes()
    table = read_table(lambda size, offset: data[offset : offset + size], "it")
    assert [(each.number, each.name, each.kind, each.start, each.size) for each in table] == [
        (number, name, kind, offset_of(name), mib * MIB)
        for number, (name, kind, mib) in enumerate(LAYOUT, start=1)
    ]


def test_progress_is_told_to_the_end_and_what_coreos_installer_changes_is_left_out(
    image: Path, disk: Path
) -> None:
    change(disk, offset_of("boot") + 5000)
    seen: list[Seen] = []
    asyncio.run(check_written(image, disk, seen.append))
    assert seen[-1] == Seen(22 * MIB, 22 * MIB, 100)


@pytest.mark.parametrize(("name", "inside"), [("os", 9 * MIB + 77), ("root", MIB - 1), ("biosboot", 0)])
def test_a_difference_is_found_at_its_byte(image: Path, disk: Path, name: str, inside: int) -> None:
    change(disk, offset_of(name) + inside)
    with pytest.raises(ExternalError, match=f"at byte {offset_of(name) + inside} .partition {name}"):
        asyncio.run(check_written(image, disk, lambda _: None))


def test_a_disk_that_ends_too_early_is_different_there(image: Path, disk: Path) -> None:
    with disk.open("r+b") as file:
        file.truncate(offset_of("root") + 4096)
    found = compare(image, disk, lambda _done, _total: None, threading.Event())
    assert found == Difference(offset_of("root") + 4096, "root")


@pytest.mark.parametrize(
    ("offset", "why"), [(512, "it has none"), (512 + 40, "of its header"), (1024 + 60, "of its entries")]
)
def test_a_table_that_is_damaged(image: Path, disk: Path, offset: int, why: str) -> None:
    change(disk, offset)
    with pytest.raises(ExternalError, match=why):
        asyncio.run(check_written(image, disk, lambda _: None))


def test_a_partition_that_is_elsewhere(image: Path, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.component.node_installer.images.LAYOUT", LAYOUT[:-1])
    from tests.component.node_installer.images import render_gpt

    with disk.open("r+b") as file:
        file.write(render_gpt(48 * MIB))
    with pytest.raises(ExternalError, match="the partition root is not where it has to be"):
        asyncio.run(check_written(image, disk, lambda _: None))


def test_a_device_is_read_directly_and_not_from_memory(image: Path, disk: Path) -> None:
    """Behind the back of the kernel the file is changed, after the device was read into its memory."""
    with loop_device(disk, 48) as device, Path(device).open("rb") as held:
        held.read()  # As long as somebody has it open, the kernel remembers it.
        change(disk, offset_of("os") + 10)
        found = compare(image, Path(device), lambda _done, _total: None, threading.Event())
    assert found == Difference(offset_of("os") + 10, "os")


def test_it_ends_when_nobody_waits(image: Path, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_CHUNK", 4096)

    async def go() -> int:
        seen: list[Seen] = []
        begun = asyncio.Event()

        def see(each: Seen) -> None:
            seen.append(each)
            begun.set()

        task = asyncio.create_task(check_written(image, disk, see))
        await asyncio.wait_for(begun.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return seen[-1].done_bytes

    assert asyncio.run(go()) < 22 * MIB


def test_a_disk_that_cannot_be_read(image: Path, tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match=r"cannot read .*gone"):
        asyncio.run(check_written(image, tmp_path / "gone", lambda _: None))
