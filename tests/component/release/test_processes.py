# SPDX-License-Identifier: Apache-2.0
"""Several processes and one store: at once, one after another, and killed in the middle of it."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from muster.release.oci.digest import digest_of
from muster.release.store.store import Store, create_store, open_store
from muster.release.store.verify import verify_store
from tests.component.muster import run
from tests.stores import NAME, noise, put_image

MIB = 1 << 20
SHARED = noise(0, 24 * MIB)


@pytest.fixture(scope="module")
def origins(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Stores with images of their own, all of which share a large layer."""
    made = []
    for number in range(1, 5):
        store = create_store(tmp_path_factory.mktemp("origins") / f"{number}")
        put_image(store, [SHARED, noise(number, 12 * MIB)], f"registry.example.com/app/n{number}:v1")
        put_image(store, [noise(10 + number, 100)], f"registry.example.com/app/small{number}:v1")
        made.append(store.root)
    return made


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "muster.cli", "store", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> int:
    _, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    return process.returncode


def wait_for_work(root: Path, process: subprocess.Popen[str]) -> None:
    """Until some of a blob is on the disk."""
    deadline = time.monotonic() + 60
    while process.poll() is None and not any(is_larger(path, MIB) for path in parts(root)):
        assert time.monotonic() < deadline
        time.sleep(0.002)


def is_larger(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size > size
    except FileNotFoundError:  # It was finished meanwhile.
        return False


def parts(root: Path) -> list[Path]:
    try:
        return [path for path in (root / "partial").iterdir() if path.suffix != ".lock" and path.exists()]
    except FileNotFoundError:
        return []


def assert_whole(root: Path, count: int) -> None:
    report = verify_store(open_store(root), full=True)
    assert report.is_good
    assert len(report.whole) == count


def test_many_writers_at_once(origins: list[Path], tmp_path: Path) -> None:
    writers = [start("import", tmp_path / "store", origin) for origin in origins * 2]
    assert [finish(writer) for writer in writers] == [0] * len(writers)
    assert_whole(tmp_path / "store", 8)
    assert not parts(tmp_path / "store")
    assert verify_store(open_store(tmp_path / "store")).unreachable == ()


def test_writers_and_collectors(origins: list[Path], tmp_path: Path) -> None:
    """What is brought in is not collected, although no name leads to it yet."""
    root = tmp_path / "store"
    create_store(root)
    running = []
    for origin in origins:
        running += [start("import", root, origin), start("gc", root)]
    assert [finish(process) for process in running] == [0] * len(running)
    assert_whole(root, 8)


def test_killed_at_any_moment(origins: list[Path], tmp_path: Path) -> None:
    """Whatever is killed, the store is whole in between, and the next run goes on with what is there."""
    root, chance, killed = tmp_path / "store", random.Random(7), 0
    create_store(root)
    for _ in range(6):
        writers = [start("import", root, origin) for origin in origins]
        wait_for_work(root, writers[0])
        for writer in chance.sample(writers, 3):
            time.sleep(chance.random() / 20)
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            writer.communicate(timeout=120)
            killed += writer.returncode == -signal.SIGKILL
        report = verify_store(open_store(root), full=True)
        assert not report.faults
        assert not report.broken
        if chance.random() < 0.5:
            shutil.rmtree(root)
            create_store(root)
    assert killed
    for origin in origins:
        assert finish(start("import", root, origin)) == 0
    assert_whole(root, 8)
    assert run("store", "gc", root).status == 0
    assert not parts(root)


def kill_in_the_middle(root: Path, origin: Path) -> int:
    """Kill a writer while a blob comes in; how much of it came. One that was too quick is tried again."""
    for _ in range(50):
        writer = start("import", root, origin)
        wait_for_work(root, writer)
        writer.send_signal(signal.SIGKILL)
        writer.communicate(timeout=60)
        if left := parts(root):
            return left[0].stat().st_size
        shutil.rmtree(root)
    raise AssertionError("the writer was always too quick")


def test_what_a_killed_writer_left_is_gone_on_with(tmp_path: Path) -> None:
    """Only the rest is read again: the beginning of the source may be gone by then."""
    data = noise(5, 64 * MIB)
    origin = create_store(tmp_path / "origin")
    put_image(origin, [data], NAME)
    root, digest = tmp_path / "store", digest_of(data)
    came = kill_in_the_middle(root, origin.root)
    assert came < len(data)
    source = origin.blobs.path(digest)
    with source.open("r+b") as file:
        file.write(b"\0" * (came - came % 4096))
    assert run("store", "import", root, origin.root).status == 0
    assert open_store(root).blobs.path(digest).read_bytes() == data


def test_ctrl_c_leaves_nothing_half_written(origins: list[Path], tmp_path: Path) -> None:
    root = tmp_path / "store"
    writer = start("import", root, origins[0])
    wait_for_work(root, writer)
    writer.send_signal(signal.SIGINT)
    assert finish(writer) in (0, 8)
    store = Store(root)
    assert verify_store(store, full=True).is_good
    export = start("export", origins[0], tmp_path / "copy.tar")
    deadline = time.monotonic() + 60
    while export.poll() is None and not any(tmp_path.glob(".copy.tar.*")):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    export.send_signal(signal.SIGTERM)
    status = finish(export)
    assert (tmp_path / "copy.tar").exists() == (status == 0)
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".part"]
