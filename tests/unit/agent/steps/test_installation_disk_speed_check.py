# SPDX-License-Identifier: Apache-2.0
"""The speed of a disk: what is asked, where is written, and what the answer means."""

from __future__ import annotations

import errno
import json
import mmap
from pathlib import Path

import pytest

from muster.agent.steps.installation_disk_speed_check import check_path, judge, parse_limit
from muster.agent.steps.outcome import BadArguments
from muster.agent.steps.sync_writes import Unfit, _write_back, choose_runs, explain, open_alone, percentile
from muster.run import LATE, Said

BLOCK = 4096


@pytest.mark.parametrize("path", ["/dev/sda", "/dev/disk/by-id/wwn-0x5000", "/dev/disk/by-path/a:b"])
def test_a_path(path: str) -> None:
    assert check_path(path) == path


@pytest.mark.parametrize("path", ["", "sda", "/dev", "/etc/passwd", "/dev/../etc/passwd", "/dev/sd\na"])
def test_no_path_of_a_disk(path: str) -> None:
    with pytest.raises(BadArguments, match="is not the path of a disk"):
        check_path(path)


def test_the_limit() -> None:
    assert parse_limit(("{}", "12.50")) == 12.5
    assert parse_limit(("{}",)) == 480
    assert parse_limit(("{}", "99999")) == 480


@pytest.mark.parametrize("text", ["", "soon", "0", "-1", "nan", "inf"])
def test_no_limit(text: str) -> None:
    with pytest.raises(BadArguments, match="is not a number of seconds"):
        parse_limit(("{}", text))


def test_runs_are_spread_over_the_disk_and_stay_on_it() -> None:
    size = 1000 * BLOCK + 512
    runs = choose_runs(size, BLOCK, 100)
    assert [len(run) for run in runs] == [25, 25, 25, 25]
    assert [run.start // BLOCK for run in runs] == [112, 362, 612, 862]
    assert all(offset % BLOCK == 0 and offset + BLOCK <= size for run in runs for offset in run)


@pytest.mark.parametrize(("blocks", "writes"), [(0, []), (1, [1]), (3, [1, 1, 1]), (9, [2, 2, 2, 2])])
def test_runs_of_a_disk_that_is_too_small(blocks: int, writes: list[int]) -> None:
    runs = choose_runs(blocks * BLOCK + 1, BLOCK, 1024)
    assert [len(run) for run in runs] == writes
    offsets = [offset for run in runs for offset in run]
    assert len(set(offsets)) == len(offsets)
    assert all(offset < blocks * BLOCK for offset in offsets)


def test_the_percentile_is_one_of_the_durations() -> None:
    assert percentile(range(1, 1001), 0.99) == 990
    assert percentile([7], 0.99) == 7
    assert percentile([9, 1], 0.99) == 9


def test_a_block_that_cannot_be_read_as_a_whole_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    path.write_bytes(b"a" * 100)
    with path.open("r+b") as file, mmap.mmap(-1, BLOCK) as block:
        block[:] = b"b" * BLOCK
        with pytest.raises(OSError, match="read as a whole"):
            _write_back(file.fileno(), block, 0)
    assert path.read_bytes() == b"a" * 100


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EBUSY, "is in use"),
        (errno.EROFS, "is read-only"),
        (errno.EACCES, "may not be written to"),
        (errno.ENOENT, "is not there"),
        (errno.ENOMEDIUM, "is not there"),
        (errno.EPERM, "cannot be opened: not permitted"),
    ],
)
def test_why_a_disk_cannot_be_opened(number: int, words: str) -> None:
    assert words in explain(OSError(number, "Not permitted"))


def test_a_file_is_no_disk(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a")
    with pytest.raises(Unfit, match="is not a disk"), open_alone(str(path)):
        pass


@pytest.mark.parametrize(("p99_ns", "shown"), [(1, 1), (10_000_000, 10), (10_000_001, 11)])
def test_the_duration_is_rounded_up(p99_ns: int, shown: int) -> None:
    outcome = judge("/dev/sda", Said(0, json.dumps({"p99_ns": p99_ns, "writes": 1024}), ""), 480)
    assert (outcome.exit_code, outcome.error) == (0, "")
    assert json.loads(outcome.output) == {"path": "/dev/sda", "io_sync_duration": shown}


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (Said(0, '{"trouble": "is in use: so"}', ""), "the disk /dev/sda is in use: so"),
        (Said(LATE, "", ""), "the disk /dev/sda did not finish its writes within 9 s"),
        (Said(1, "", "Traceback\nit broke\n"), "the disk /dev/sda could not be measured: it broke"),
        (Said(0, "what", ""), "the disk /dev/sda could not be measured: JSON is malformed"),
    ],
)
def test_a_disk_that_was_not_measured(said: Said, error: str) -> None:
    outcome = judge("/dev/sda", said, 9)
    assert (outcome.exit_code, outcome.output) == (1, "")
    assert outcome.error.startswith(error)
