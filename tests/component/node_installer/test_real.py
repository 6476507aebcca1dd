# SPDX-License-Identifier: Apache-2.0
"""A loop device is installed on by the real coreos-installer, and looked at afterwards."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from muster.model.ignition import Config, File, render_tree, tree_of
from muster.model.replacement import Replacement
from muster.node.boot_code import NEXT_DEVICE, find_device
from muster.node.following import follow
from muster.node.install import install
from muster.node.marks import is_marked
from muster.node.mounted import mount, mounted, release_mounts
from muster.node.parts import WrittenDisk
from muster.node.standing_in import make_request, marking
from muster.release.node.images import FILE, NodeImage, NodeImages
from muster.release.store.store import create_store, open_store
from muster.release.store.verify import Report, verify_store
from muster.run import run
from muster.toolbox import Toolbox
from tests.component.node_installer.hosts import IGNITION, LoopHost, loop_host
from tests.component.node_installer.images import MIB, offset_of
from tests.stores import noise, put_image
from tests.unit.node.test_plan import request


@pytest.fixture
def host(tmp_path: Path, image: Path) -> Iterator[LoopHost]:
    with loop_host(tmp_path, image) as host:
        yield host


def is_mounted(device: str) -> bool:
    return device in Path("/proc/self/mounts").read_text()


def format_root(disk: WrittenDisk) -> None:
    """What the first boot or `make_root` does, but that the partition does not grow."""
    run(["mkfs.ext4", "-q", "-F", "-L", "root", disk.root.device])


def test_a_host_is_installed(host: LoopHost) -> None:
    run(["mkfs.ext4", "-q", "-F", "-L", "old-data", host.device])
    seen: dict[str, str] = {}

    async def hand_over(disk: WrittenDisk) -> None:
        await asyncio.to_thread(format_root, disk)
        async with mounted(host.machine, disk) as system:
            await asyncio.to_thread(look, system.boot)
            await asyncio.to_thread(put, system.var / "lib/etcd")

    def look(boot: Path) -> None:
        seen.update({str(path.relative_to(boot)): path.read_text() for path in boot.glob("*/*.ign")})
        seen["entry"] = (boot / "loader/entries/muster.conf").read_text()

    def put(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "log").write_text("kept")

    wanted = request(host.device, installer_args='["--append-karg", "--insecure", "--append-karg", "a=b"]')
    assert asyncio.run(install(wanted, host.ports(hand_over))) is None
    assert host.listener.stages[1][1].startswith(f"erase disk {host.device} (no serial number, 67 MB)")
    assert seen["ignition/config.ign"] == IGNITION.decode()
    assert "options ignition.platform.id=metal --insecure a=b\n" in seen["entry"]
    assert ("Writing image to disk", 100) in [(stage, percent) for stage, _, percent in host.listener.stages]
    assert host.listener.warnings == []
    assert host.machine.restarts == 1
    assert not is_mounted(host.device)
    assert not list((host.machine.root / "run").glob("muster-mounted-*"))


def test_the_images_of_a_host_are_in_the_file_system_that_it_boots_from(
    host: LoopHost, toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its partition grows from 1 MiB to the rest of the disk, by the programs that a host has."""
    programs = {str(Path(toolbox.argv(name)[0]).parent) for name in ("sfdisk", "sgdisk", "mkfs.ext4")}
    monkeypatch.setenv("PATH", ":".join((*programs, os.environ["PATH"])))
    store = create_store(host.machine.root / "run/media/iso/release")
    made = put_image(store, [noise(1, 3 * MIB)], "muster.local/kubernetes/kube:v1")
    name = f"muster.local/kubernetes/kube@{made.digest}"
    listed = msgspec.json.encode(NodeImages((NodeImage(name, 3 * MIB),)))
    host.service.ignition = render_tree(tree_of(Config((File(FILE, listed),))))
    found: list[Report] = []

    async def hand_over(disk: WrittenDisk) -> None:
        async with mount(host.machine, disk.root.device) as root:
            found.append(verify_store(open_store(root / "hand-over/images"), full=True))

    assert asyncio.run(install(request(host.device), host.ports(hand_over))) is None
    (report,) = found
    assert report.is_good
    assert report.whole == (name,)
    assert host.machine.restarts == 1
    assert not is_mounted(host.device)


def test_a_machine_that_took_the_place_of_a_lost_host_is_known_again(host: LoopHost) -> None:
    wanted = Replacement(id="medium", hostname="master-2", role="master")
    seen: list[bool] = []

    async def hand_over(disk: WrittenDisk) -> None:
        await asyncio.to_thread(format_root, disk)
        await marking(host.machine, wanted)(disk)
        async with mount(host.machine, disk.root.device) as root:
            seen.extend(is_marked(root, id) for id in ("medium", "another"))

    assert asyncio.run(install(make_request(wanted, host.device), host.ports(hand_over))) is None
    assert seen == [True, False]
    assert not is_mounted(host.device)


def test_a_failure_of_coreos_installer_is_told_in_its_words(tmp_path: Path, image: Path) -> None:
    """It finds no boot partition to put the configuration into."""
    spoiled = tmp_path / "spoiled.img"
    data = bytearray(image.read_bytes())
    data[offset_of("boot") : offset_of("boot") + MIB] = bytes(MIB)
    spoiled.write_bytes(data)
    with loop_host(tmp_path, spoiled) as host:
        told = asyncio.run(install(request(host.device), host.ports()))
        assert told is not None
        assert told.startswith(
            f"the disk {host.device} (no serial number, 67 MB) was not written: coreos-installer "
        )
        assert "couldn't find boot device" in told
        assert host.listener.stages[-1] == ("Failed", told, None)
        assert host.machine.restarts == 0
        with Path(host.device).open("rb") as disk:
            sector = disk.read(512)
        # A BIOS takes the disk for one that can be started from; it goes on to the medium all the same.
        has_bios = find_device(host.machine.root, host.device) is not None
        assert (sector[:5] == NEXT_DEVICE, sector[510:]) == (has_bios, b"\x55\xaa")


def test_a_disk_that_is_mounted_is_not_touched(host: LoopHost) -> None:
    run(["mkfs.ext4", "-q", "-F", host.device])

    async def go() -> str | None:
        async with mount(host.machine, host.device):
            # A place that nobody left behind: it is not released.
            host.machine.root.joinpath("run").rename(host.machine.root / "old-run")
            try:
                host.machine.root.joinpath("run").mkdir()
                return await install(request(host.device), host.ports())
            finally:
                host.machine.root.joinpath("run").rmdir()
                host.machine.root.joinpath("old-run").rename(host.machine.root / "run")

    told = asyncio.run(go())
    assert told is not None
    assert f"the disk {host.device} is in use: {host.device} at " in told


@pytest.mark.parametrize("end", ["error", "cancel"])
def test_what_was_mounted_is_unmounted_in_all_cases(host: LoopHost, end: str) -> None:
    run(["mkfs.ext4", "-q", "-F", host.device])

    async def use() -> None:
        async with mount(host.machine, host.device) as place:
            assert is_mounted(str(place))
            if end == "error":
                raise ValueError("no")
            current = asyncio.current_task()
            assert current is not None
            current.cancel()
            await asyncio.sleep(60)

    with pytest.raises((ValueError, asyncio.CancelledError)):
        asyncio.run(use())
    assert not is_mounted(host.device)


def test_what_a_killed_installer_left_mounted_is_released(host: LoopHost) -> None:
    run(["mkfs.ext4", "-q", "-F", host.device])
    place = host.machine.root / "run/muster-mounted-left"
    place.mkdir()
    run(["mount", host.device, place])
    asyncio.run(release_mounts(host.machine))
    assert not is_mounted(host.device)
    assert not place.exists()


def test_a_second_writer_waits_for_the_first_and_gives_up(
    host: LoopHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.node.write._PREDECESSOR_S", 0)
    host.writer.folder.mkdir()
    lock = host.writer.folder / "writing.lock"

    async def go() -> str | None:
        ready = asyncio.Event()
        first = asyncio.create_task(
            follow(["flock", lock, "sh", "-c", "echo locked; sleep 600"], lambda _: ready.set(), 600)
        )
        await asyncio.wait_for(ready.wait(), 60)
        told = await install(request(host.device), host.ports())
        first.cancel()
        await asyncio.wait({first})
        return told

    told = asyncio.run(go())
    assert told is not None
    assert "still writes to the disk" in told
