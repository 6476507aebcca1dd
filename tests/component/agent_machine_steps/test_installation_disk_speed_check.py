# SPDX-License-Identifier: Apache-2.0
"""A disk is measured and stays as it was, whatever happens meanwhile. All disks are the test's own."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.agent.steps.installation_disk_speed_check import run
from muster.agent.steps.outcome import Outcome
from muster.machine import ThisMachine

SIZE = 16 << 20
DEADLINE_S = 60.0

pytestmark = pytest.mark.usefixtures("root")


@dataclass(frozen=True)
class Disk:
    """A loop device, and the file that it shows."""

    path: Path
    file: Path
    content: bytes

    @property
    def writes(self) -> int:
        """How many writes the kernel has counted."""
        return int(Path(f"/sys/block/{self.path.name}/stat").read_text().split()[4])

    def is_as_it_was(self) -> bool:
        with self.path.open("rb") as device:
            fcntl.ioctl(device, 0x1261)  # BLKFLSBUF: what is read is what is on the disk.
            return device.read() == self.content and self.file.read_bytes() == self.content


@contextlib.contextmanager
def make_disk(folder: Path, *flags: str) -> Iterator[Disk]:
    file = folder / "disk.img"
    content = random.Random(7).randbytes(SIZE)
    file.write_bytes(content)
    made = subprocess.run(
        ["losetup", "--find", "--show", *flags, file], check=True, capture_output=True, text=True
    )
    path = made.stdout.strip()
    try:
        yield Disk(Path(path), file, content)
    finally:
        subprocess.run(["losetup", "--detach", path], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with make_disk(tmp_path) as disk:
        yield disk


def measure(path: Path | str, limit: str = "60.00") -> Outcome:
    return asyncio.run(run(ThisMachine(), (json.dumps({"path": str(path)}), limit)))


def test_a_disk_is_measured_and_stays_as_it_was(disk: Disk) -> None:
    before = disk.writes
    outcome = measure(disk.path)
    assert (outcome.exit_code, outcome.error) == (0, "")
    found = json.loads(outcome.output)
    assert found["path"] == str(disk.path)
    assert 0 < found["io_sync_duration"] < 60_000
    assert disk.writes - before >= 100
    assert disk.is_as_it_was()


def test_blocks_as_large_as_the_sectors(tmp_path: Path) -> None:
    with make_disk(tmp_path, "--sector-size", "4096") as disk:
        assert measure(disk.path).exit_code == 0
        assert disk.is_as_it_was()


def test_a_disk_stays_as_it_was_when_the_measuring_is_killed(disk: Disk) -> None:
    before = disk.writes
    argv = [sys.executable, "-m", "muster.agent.steps.sync_writes", str(disk.path), str(10**9), "600"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        end = time.monotonic() + DEADLINE_S
        while disk.writes - before < 20:
            assert process.poll() is None
            assert time.monotonic() < end
        process.kill()
        assert process.wait(DEADLINE_S) == -9
    assert disk.is_as_it_was()


def test_a_disk_that_is_in_use(disk: Disk) -> None:
    before = disk.writes
    user = os.open(disk.path, os.O_RDONLY | os.O_EXCL)
    try:
        outcome = measure(disk.path)
    finally:
        os.close(user)
    assert outcome.exit_code == 1
    assert outcome.error.startswith(f"the disk {disk.path} is in use: something on it is mounted")
    assert disk.writes == before


def test_a_disk_that_is_locked(disk: Disk) -> None:
    before = disk.writes
    with disk.path.open("rb") as user:
        fcntl.flock(user, fcntl.LOCK_EX)
        outcome = measure(disk.path)
    assert outcome.error == f"the disk {disk.path} is in use: somebody has locked it"
    assert disk.writes == before


def test_a_disk_that_is_read_only(tmp_path: Path) -> None:
    with make_disk(tmp_path, "--read-only") as disk:
        outcome = measure(disk.path)
        assert (outcome.exit_code, outcome.error) == (1, f"the disk {disk.path} is read-only")
        assert disk.is_as_it_was()


def test_no_disk() -> None:
    outcome = measure("/dev/disk/by-id/nothing-of-this-name")
    assert outcome.exit_code == 1
    assert outcome.error == "the disk /dev/disk/by-id/nothing-of-this-name is not there"
    assert measure("/dev/null").error == "the disk /dev/null is not a disk"


def test_a_limit_that_is_too_short_leaves_no_change(disk: Disk) -> None:
    outcome = measure(disk.path, "0.001")
    assert outcome.exit_code == 1
    assert outcome.error == f"the disk {disk.path} did not finish its writes within 0.001 s"
    assert disk.is_as_it_was()
