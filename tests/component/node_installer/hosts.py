# SPDX-License-Identifier: Apache-2.0
"""Hosts to install: one of plain files, and one with a loop device and the real coreos-installer."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from muster.machine import ThisMachine
from muster.model.wire.enums import HostStage
from muster.node.following import Heard
from muster.node.parts import WrittenDisk
from muster.node.ports import Ports
from muster.node.write import Writer
from muster.run import Argument, Said
from tests.component.node_installer.images import LAYOUT, MIB, loop_device
from tests.foreign import COREOS_INSTALLER
from tests.unit.node.machines import Recorded, lsblk, row

IGNITION = b'{"ignition": {"version": "3.4.0"}}'
DISK_MIB = 64
# What udev would do: make the partitions known, and tell lsblk what is in them.
UDEVADM = """\
#!/bin/sh
partx --update "$TARGET" >/dev/null 2>&1
mkdir -p /run/udev/data
for part in /sys/class/block/"${TARGET##*/}"p*; do
    [ -e "$part" ] || continue
    { echo I:1; blkid -p -o udev "/dev/${part##*/}" | sed 's/^/E:/'; } >"/run/udev/data/b$(cat "$part/dev")"
done
exit 0
"""
# It must be alone in its namespace before it mounts anything; then no disk but loop devices can be reached.
INSTALLER = """\
#!/bin/sh
[ "$(readlink /proc/self/ns/mnt)" != "$(readlink /proc/{pid}/ns/mnt)" ] || exit 99
mount -t tmpfs tmpfs /run || exit 98
mkdir -p /run/udev /run/muster
: >/run/udev/control
ln -s {image} /run/muster/metal
for disk in /sys/block/*; do
    case ${{disk##*/}} in
    loop*) ;;
    *) mount --bind /dev/null "/dev/${{disk##*/}}" ;;
    esac
done
export TARGET={target} PATH={folder}:$PATH RUST_BACKTRACE=0
exec {real} "$@"
"""


@dataclass
class Listener:
    """Remembers what was reported."""

    stages: list[tuple[str, str, int | None]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    async def stage(self, stage: HostStage, info: str = "", percent: int | None = None) -> None:
        self.stages.append((stage, info, percent))

    async def warn(self, sentence: str) -> None:
        self.warnings.append(sentence)

    def names(self) -> list[str]:
        return list(dict.fromkeys(stage for stage, _, _ in self.stages))


@dataclass
class Answering:
    """A service that answers as it is told to."""

    ignition: bytes = IGNITION
    ready: list[bool] = field(default_factory=lambda: [True])

    async def host_ignition(self) -> bytes:
        return self.ignition

    async def control_plane_ready(self) -> bool:
        return self.ready.pop(0) if len(self.ready) > 1 else self.ready[0]


class Copying:
    """Stands in for coreos-installer: it copies the image, or does what it is told to do instead."""

    def __init__(self, image: Path, disk: Path) -> None:
        self.image, self.disk = image, disk
        self.commands: list[tuple[str, ...]] = []
        self.instead: Callable[[], Awaitable[None]] | None = None
        self.config = b""

    async def __call__(self, argv: Sequence[Argument], heard: Heard, deadline_s: float) -> None:
        self.commands.append(tuple(str(each) for each in argv))
        (config,) = (each for each in self.commands[-1] if each.startswith("--ignition-file="))
        self.config = _load(config.partition("=")[2])
        if self.instead is not None:
            await self.instead()
        data = self.image.read_bytes()
        with self.disk.open("r+b") as file:
            file.write(data)
        size = f"{len(data) // MIB}.0 MiB"
        heard("Copying image")
        heard(f"Read disk {size}/{size} (100%)")


def _load(path: str) -> bytes:
    return Path(path).read_bytes()


class PlainHost:
    """A host whose disk is a file."""

    def __init__(self, folder: Path, image: Path) -> None:
        self.root = folder / "root"
        self.disk = self.root / "dev/sda"
        for name in ("dev", "run/muster", *(f"sys/class/block/sda{n}" for n in range(1, 6))):
            (self.root / name).mkdir(parents=True)
        for number in range(1, 6):
            (self.root / f"sys/class/block/sda{number}/partition").write_text(f"{number}\n")
        shutil.copyfile(image, self.root / "run/muster/metal")
        with self.disk.open("wb") as file:
            file.truncate(DISK_MIB * MIB)
        self.serial = "X"
        self.failing = ""
        self.machine = Recorded(self.root, self.answer)
        self.copying = Copying(image, self.disk)
        self.listener, self.service = Listener(), Answering()

    def answer(self, words: tuple[str, ...]) -> Said | str | None:
        if words[0] == self.failing:
            return Said(1, "", f"{words[0]}: no luck")
        if words[0] == "lsblk":
            parts = [
                row(f"sda{number}", "part", mib * MIB) for number, (_, _, mib) in enumerate(LAYOUT, start=1)
            ]
            return lsblk(row("sda", "disk", DISK_MIB * MIB, *parts, serial=self.serial))
        return None if words[0] == "pvs" else ""

    def ports(self, others_ready: Callable[[], Awaitable[None]] | None = None) -> Ports:
        return Ports(
            machine=self.machine,
            reporter=self.listener,
            service=self.service,
            writer=Writer(self.root / "var/lib/muster/install", follow=self.copying),
            others_ready=others_ready,
            pause=_no_pause,
        )


async def _no_pause(_seconds: float) -> None:
    pass


@dataclass
class LoopMachine:
    """This machine, but that it does not restart, and with a /run of its own."""

    root: Path
    restarts: int = 0

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        if argv[0] == "systemctl":
            self.restarts += 1
            return Said(0, "", "")
        return await ThisMachine().ask(argv, deadline_s=deadline_s, feed=feed)


@dataclass
class LoopHost:
    """A host whose disk is a loop device, written by the real coreos-installer."""

    machine: LoopMachine
    device: str
    writer: Writer
    listener: Listener = field(default_factory=Listener)
    service: Answering = field(default_factory=Answering)

    def ports(self, hand_over: Callable[[WrittenDisk], Awaitable[None]] | None = None) -> Ports:
        return Ports(
            machine=self.machine,
            reporter=self.listener,
            service=self.service,
            writer=self.writer,
            hand_over=hand_over,
            also_disks=("loop",),
        )


@contextmanager
def loop_host(folder: Path, image: Path, disk_mib: int = DISK_MIB) -> Iterator[LoopHost]:
    root = folder / "root"
    (root / "run/muster").mkdir(parents=True)
    for name in ("dev", "sys", "proc"):
        (root / name).symlink_to(f"/{name}")
    (root / "run/muster/metal").symlink_to(image)
    programs = folder / "programs"
    programs.mkdir()
    with loop_device(folder / "disk.img", disk_mib) as device:
        words = {
            "pid": os.getpid(),
            "image": image,
            "target": device,
            "folder": programs,
            "real": COREOS_INSTALLER,
        }
        for name, text in (("udevadm", UDEVADM), ("coreos-installer", INSTALLER.format(**words))):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        program = str(programs / "coreos-installer")
        yield LoopHost(LoopMachine(root), device, Writer(folder / "state", program=program))
