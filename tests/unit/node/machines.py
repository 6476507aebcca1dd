# SPDX-License-Identifier: Apache-2.0
"""Machines made of answers: what lsblk and pvs say of some usual sets of disks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from muster.run import MISSING, Argument, Said

GB = 10**9
Row = dict[str, Any]


def row(name: str, kind: str, size: int, *children: Row, **more: Any) -> Row:
    """A device as lsblk shows it."""
    path = f"/dev/mapper/{name}" if more.get("kname", "").startswith("dm-") else f"/dev/{name}"
    plain = {
        "name": name,
        "kname": name,
        "path": path,
        "type": kind,
        "size": size,
        "serial": None,
        "wwn": None,
    }
    plain |= {"model": None, "fstype": None, "label": None, "mountpoints": [None], "ro": False}
    return plain | more | ({"children": list(children)} if children else {})


def lsblk(*rows: Row) -> str:
    return json.dumps({"blockdevices": rows})


def pvs(**groups: Sequence[str]) -> str:
    rows = [{"pv_name": path, "vg_name": name} for name, paths in groups.items() for path in paths]
    return json.dumps({"report": [{"pv": rows}]})


MEDIUM = row("sr0", "rom", GB, fstype="iso9660", label="muster-os", mountpoints=["/run/media/iso"])
VIRTIO = (row("vda", "disk", 20 * GB, serial="ROOT"), MEDIUM)
NVME = (
    row(
        *("nvme0n1", "disk", 960 * GB),
        *(row(f"nvme0n1p{n}", "part", GB, fstype=kind) for n, kind in ((1, "vfat"), (2, "ext4"))),
        serial="S5XX",
        wwn="eui.0025385a11b2c3d4",
        model="SAMSUNG MZQL2960",
    ),
    row("nvme0n2", "disk", 960 * GB, serial="S5XX", wwn="eui.0025385a11b2c3d5"),
)


def _lv(name: str, number: int, *children: Row) -> Row:
    return row(name, "lvm", 40 * GB, *children, kname=f"dm-{number}")


SATA_LVM = (
    row(
        *("sda", "disk", 480 * GB),
        row("sda1", "part", GB, fstype="ext4", label="boot"),
        row(
            *("sda2", "part", 479 * GB),
            _lv("vg0-root", 0),
            _lv("vg0-data", 1, row("secret", "crypt", 40 * GB, kname="dm-2", fstype="xfs")),
            fstype="LVM2_member",
        ),
        serial="Z1",
        wwn="0x5000c5001",
    ),
    row(
        *("sdaa", "disk", 480 * GB),
        row("sdaa1", "part", 480 * GB, _lv("vg1-keep", 3), fstype="LVM2_member"),
        serial="Z2",
        wwn="0x5000c5002",
    ),
)
SATA_GROUPS = pvs(vg0=["/dev/sda2"], vg1=["/dev/sdaa1"])


def mirrored(level: str) -> tuple[Row, ...]:
    """Two disks with an array over a partition of each, and LVM on it."""
    array = row("md127", level, 400 * GB, _lv("vg0-root", 0), fstype="LVM2_member")
    return tuple(
        row(
            *(name, "disk", 480 * GB),
            row(f"{name}1", "part", 480 * GB, array, fstype="linux_raid_member"),
            serial=name.upper(),
        )
        for name in ("sda", "sdb")
    )


MULTIPATH = tuple(
    row(
        *(name, "disk", 200 * GB),
        row(
            *("mpatha", "mpath", 200 * GB),
            row("mpatha1", "part", GB, kname="dm-1", fstype="ext4"),
            kname="dm-0",
            wwn="0x6000d31",
        ),
        serial="LUN7",
        wwn="0x6000d31",
        fstype="mpath_member",
    )
    for name in ("sda", "sdb")
)


class Recorded:
    """A machine whose programs answer what was written down, and that remembers what it was asked."""

    def __init__(self, root: Path, answers: Callable[[tuple[str, ...]], Said | str | None]) -> None:
        self._root = root
        self._answers = answers
        self.asked: list[tuple[str, ...]] = []

    @property
    def root(self) -> Path:
        return self._root

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        words = tuple(str(each) for each in argv)
        self.asked.append(words)
        answer = self._answers(words)
        if answer is None:
            return Said(MISSING, "", f"the program {words[0]} is not there")
        return Said(0, answer, "") if isinstance(answer, str) else answer

    def changed(self) -> list[str]:
        """What it was asked to do, without what only looks."""
        return [" ".join(each) for each in self.asked if each[0] not in ("lsblk", "pvs")]
