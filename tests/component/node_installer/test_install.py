# SPDX-License-Identifier: Apache-2.0
"""A host is installed: the order of the steps, what is reported, and how it goes on after an interruption."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from muster.errors import ExternalError
from muster.model.replacement import CONFIG_FILE, Replacement
from muster.node.disk import CARRIED_HASH
from muster.node.install import install
from muster.node.parts import WrittenDisk
from muster.node.standing_in import KeptConfig, make_request
from muster.node.state import has_begun
from tests.component.node_installer.hosts import IGNITION, PlainHost
from tests.component.node_installer.images import offset_of
from tests.unit.node.test_plan import request


@pytest.fixture
def host(tmp_path: Path, image: Path) -> PlainHost:
    return PlainHost(tmp_path, image)


def test_a_control_plane_host(host: PlainHost) -> None:
    assert asyncio.run(install(request(), host.ports())) is None
    assert host.listener.names() == [
        "Starting installation",
        "Installing",
        "Writing image to disk",
        "Rebooting",
    ]
    stages = host.listener.stages
    assert stages[1][1].startswith("erase disk /dev/sda (serial X, 67 MB), which contains 5 partitions")
    assert [percent for stage, _, percent in stages if percent is not None] == [0, 100]
    assert any(info.startswith("reading back: 22 MiB of 22 MiB") for _, info, _ in stages)
    assert host.machine.asked[-1] == ("systemctl", "reboot")
    (command,) = host.copying.commands
    assert command[-1] == "/dev/sda"
    assert command[-3:-1] == ("--image-file=/run/muster/metal", "--insecure")
    assert host.copying.config == IGNITION
    assert not (host.ports().folder / "host.ign").exists()


def expect(host: PlainHost, image: Path, sha256: str) -> None:
    """What the initial RAM disk says of the image."""
    path = host.machine.root / CARRIED_HASH.lstrip("/")
    path.write_text(f"{sha256} {image.stat().st_size}\n")


def test_an_image_with_the_expected_hash_is_written(host: PlainHost, image: Path) -> None:
    expect(host, image, hashlib.sha256(image.read_bytes()).hexdigest())
    assert asyncio.run(install(request(), host.ports())) is None
    assert any(info.startswith("checking the system's image: ") for _, info, _ in host.listener.stages)
    assert host.copying.commands


def test_nothing_is_erased_for_an_image_that_was_changed(host: PlainHost, image: Path) -> None:
    expect(host, image, "0" * 64)
    failure = asyncio.run(install(request(), host.ports()))
    assert failure is not None
    assert "is damaged, or was changed" in failure
    assert "nothing was written" in failure
    assert host.listener.stages[-1][0] == "Failed"
    assert not host.copying.commands
    assert not any(command[0] in ("wipefs", "sgdisk", "blkdiscard") for command in host.machine.asked)


def test_the_configuration_is_for_root_alone_while_it_is_needed(host: PlainHost) -> None:
    modes: list[int] = []

    async def look() -> None:
        modes.append((host.ports().folder / "host.ign").stat().st_mode & 0o777)

    host.copying.instead = look
    assert asyncio.run(install(request(), host.ports())) is None
    assert modes == [0o600]


def test_the_rendezvous_host_waits_for_the_others_and_hands_over_last(host: PlainHost) -> None:
    order: list[str] = []

    async def others() -> None:
        order.append(host.listener.stages[-1][0])

    async def hand_over(disk: WrittenDisk) -> None:
        order.append(f"{disk.path} {disk.root.device} {disk.root.number} {disk.boot.device}")

    ports = replace(host.ports(others_ready=others), hand_over=hand_over)
    assert asyncio.run(install(msgspec.structs.replace(request(), role="bootstrap"), ports)) is None
    assert order == ["Waiting for control plane", "/dev/sda /dev/sda5 5 /dev/sda3"]
    assert host.listener.names()[-2:] == ["Waiting for control plane", "Rebooting"]


@pytest.mark.parametrize(("ready", "waits"), [([True], False), ([False, False, True], True)])
def test_a_worker_waits_only_if_it_is_told_to(host: PlainHost, ready: list[bool], waits: bool) -> None:
    host.service.ready = ready
    assert asyncio.run(install(msgspec.structs.replace(request(), role="worker"), host.ports())) is None
    assert ("Waiting for control plane" in host.listener.names()) == waits
    assert host.machine.asked[-1] == ("systemctl", "reboot")


def test_a_writing_that_was_interrupted_begins_again(host: PlainHost) -> None:
    async def go() -> None:
        begun = asyncio.Event()

        async def hang() -> None:
            begun.set()
            await asyncio.sleep(600)

        host.copying.instead = hang
        task = asyncio.create_task(install(request(), host.ports()))
        await asyncio.wait_for(begun.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        host.copying.instead = None
        assert await install(request(), host.ports()) is None

    asyncio.run(go())
    assert len(host.copying.commands) == 2


def test_what_was_written_and_verified_is_not_written_again(host: PlainHost) -> None:
    async def fail(_disk: WrittenDisk) -> None:
        raise ExternalError("the others do not take it", hint="try again")

    told = asyncio.run(install(request(), replace(host.ports(), hand_over=fail)))
    assert told == "the others do not take it; try again"
    assert host.listener.stages[-1] == ("Failed", told, None)
    before = len(host.machine.changed())
    assert asyncio.run(install(request(), host.ports())) is None
    assert len(host.copying.commands) == 1
    assert host.machine.changed()[before:] == ["systemctl reboot"]


@pytest.mark.parametrize("other", ["configuration", "disk"])
def test_another_configuration_or_disk_is_written(host: PlainHost, other: str) -> None:
    assert asyncio.run(install(request(), host.ports())) is None
    if other == "disk":
        host.serial = "Y"
    else:
        host.service.ignition = b'{"ignition": {"version": "3.5.0"}}'
    assert asyncio.run(install(request(), host.ports())) is None
    assert len(host.copying.commands) == 2


def test_an_installation_that_another_one_has_begun_to_overwrite_is_not_finished_any_more(
    host: PlainHost,
) -> None:
    async def fail() -> None:
        raise ExternalError("no power")

    assert asyncio.run(install(request(), host.ports())) is None
    host.service.ignition, host.copying.instead = b'{"ignition": {"version": "3.5.0"}}', fail
    assert asyncio.run(install(request(), host.ports())) is not None
    host.service.ignition, host.copying.instead = IGNITION, None
    assert asyncio.run(install(request(), host.ports())) is None
    assert len(host.copying.commands) == 3


def test_a_disk_that_did_not_keep_what_was_written_fails_each_time_until_it_does(host: PlainHost) -> None:
    good = host.copying.image
    bad = host.root / "bad.img"
    data = bytearray(good.read_bytes())
    data[offset_of("os") + 123] ^= 255
    bad.write_bytes(data)
    host.copying.image = bad
    for _ in range(2):
        told = asyncio.run(install(request(), host.ports()))
        assert told is not None
        assert f"at byte {offset_of('os') + 123}" in told
    assert "Rebooting" not in host.listener.names()
    assert len(host.copying.commands) == 2, "the second try writes it again"


def test_an_exchanged_disk_is_noticed_before_it_is_touched(host: PlainHost) -> None:
    """It is exchanged while the configuration is fetched."""
    fetch = host.service.host_ignition

    async def exchange() -> bytes:
        host.serial = "PRECIOUS"
        return await fetch()

    host.service.host_ignition = exchange  # type: ignore[method-assign]
    told = asyncio.run(install(request(), host.ports()))
    assert told is not None
    assert "another disk than planned" in told
    assert host.machine.changed() == []
    assert host.copying.commands == []


@pytest.mark.parametrize(
    "text", [b"", b"<html>", b"[]", b'{"ignition": {}}', b'{"ignition": {"version": 3}}']
)
def test_nothing_is_erased_without_a_configuration(host: PlainHost, text: bytes) -> None:
    host.service.ignition = text
    told = asyncio.run(install(request(), host.ports()))
    assert told is not None
    assert "is not an Ignition config" in told
    assert host.machine.changed() == []


def test_a_host_that_does_not_restart_says_so(host: PlainHost) -> None:
    host.failing = "systemctl"
    told = asyncio.run(install(request(), host.ports()))
    assert told == "this host does not restart: systemctl: no luck; it is installed: restart it by hand"
    assert host.listener.stages[-1][0] == "Failed"


def test_what_did_not_work_while_it_was_emptied_is_a_warning(host: PlainHost) -> None:
    host.failing = "wipefs"
    assert asyncio.run(install(request(), host.ports())) is None
    assert host.listener.warnings[-1] == "wipefs --all --force /dev/sda: wipefs: no luck"


def test_a_firmware_that_cannot_be_told_is_a_warning_with_the_way_out(host: PlainHost) -> None:
    (host.root / "sys/firmware/efi").mkdir(parents=True)
    assert asyncio.run(install(request(), host.ports())) is None
    (warning,) = host.listener.warnings
    assert "no boot loader is on /dev/sda2" in warning
    assert "put that disk first in the boot order" in warning


def test_a_disk_that_is_not_there(host: PlainHost) -> None:
    told = asyncio.run(install(request("/dev/sdb"), host.ports()))
    assert told is not None
    assert "the disk /dev/sdb is not there; this host has: /dev/sda (serial X" in told
    assert host.machine.changed() == []


def test_a_lost_host_is_written_with_what_its_medium_has(host: PlainHost) -> None:
    path = host.root / CONFIG_FILE.lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"ignition": {"version": "3.4.0"}, "kept": true}')
    marked: list[str] = []

    async def leave(disk: WrittenDisk) -> None:
        marked.append(disk.path)

    ports = replace(host.ports(), service=KeptConfig(host.root), hand_over=leave)
    wanted = Replacement(id="medium", hostname="master-2", role="master")
    assert not has_begun(ports.folder)
    assert asyncio.run(install(make_request(wanted, "/dev/sda"), ports)) is None
    assert host.copying.config == path.read_bytes()
    assert marked == ["/dev/sda"]
    assert has_begun(ports.folder)
    assert host.machine.asked[-1] == ("systemctl", "reboot")
