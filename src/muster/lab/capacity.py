# SPDX-License-Identifier: Apache-2.0
"""Whether this machine can carry a lab, with the arithmetic for those who asked for too much."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.lab.plan import LabPlan
from muster.units import render_size

MIB: Final = 1 << 20
_OVERHEAD_MIB: Final = {"tcg": 300, "kvm": 100}
"""What a QEMU takes besides the guest's memory; translated code is the larger part of it."""
_WRITTEN_MIB: Final = 2048
"""What a machine writes to its disks when it is installed, about."""
_BOOT_S: Final = {"tcg": 75, "kvm": 20}
"""From power on to the report of a live system, when a machine has a processor to itself."""


@dataclass(frozen=True)
class Room:
    """What this machine has left."""

    memory_mib: int
    disk_bytes: int
    cpus: int


def find_room(folder: Path, meminfo: Path = Path("/proc/meminfo")) -> Room:
    """What is free here, and on the file system of a folder that need not exist yet."""
    while not folder.exists():
        folder = folder.parent
    words = dict(line.split(":", 1) for line in meminfo.read_text("ascii").splitlines() if ":" in line)
    free_kib = int(words.get("MemAvailable", words.get("MemFree", "0")).split()[0])
    return Room(free_kib // 1024, shutil.disk_usage(folder).free, os.cpu_count() or 1)


def check_room(plan: LabPlan, room: Room, accel: str) -> None:
    """Refuse a lab that this machine cannot carry."""
    overhead = _OVERHEAD_MIB[accel]
    count = len(plan.machines)
    needed = plan.memory_mib + overhead * count
    if needed > room.memory_mib:
        fitting = _how_many(plan, room, overhead)
        raise UserError(
            f"the lab needs {render_size(needed * MIB)} of memory,"
            f" and {render_size(room.memory_mib * MIB)} are free:"
            f" {_sum(plan)} for {count} machine(s), and {overhead} MiB for the QEMU of each",
            hint=f"{fitting} of them would fit: choose with --only HOST, or lower memoryMiB in lab.yaml",
        )
    written = _WRITTEN_MIB * MIB * count
    if written > room.disk_bytes:
        largest = sum(disk.size_bytes for machine in plan.machines for disk in machine.disks)
        raise UserError(
            f"the lab needs about {render_size(written)} of disk space (2 GiB for each of {count} machine(s);"
            f" their disks may grow to {render_size(largest)}), and {render_size(room.disk_bytes)} are free",
            hint="free some space, choose fewer machines with --only HOST, or set XDG_STATE_HOME",
        )


def _sum(plan: LabPlan) -> str:
    sizes: dict[int, int] = {}
    for machine in plan.machines:
        sizes[machine.memory_mib] = sizes.get(machine.memory_mib, 0) + 1
    return " + ".join(f"{count} x {size} MiB" for size, count in sizes.items())


def _how_many(plan: LabPlan, room: Room, overhead: int) -> int:
    left, fitting = room.memory_mib, 0
    for machine in sorted(plan.machines, key=lambda each: each.memory_mib):
        left -= machine.memory_mib + overhead
        fitting += left >= 0
    return fitting


def is_crowded(plan: LabPlan, processors: int) -> bool:
    """Whether guests have more processors than there are."""
    return _processors(plan) > processors


def _processors(plan: LabPlan) -> int:
    return sum(machine.cpus for machine in plan.machines)


def advise(plan: LabPlan, room: Room) -> str:
    """What to expect of a lab that fits, but not well; empty when there is nothing to say."""
    asked = _processors(plan)
    if asked <= 2 * room.cpus:
        return ""
    times = asked // room.cpus
    return f"{asked} processors are asked for and {room.cpus} are there: expect about {times} times the time"


def expected_s(machines: int, accel: str, cpus: int) -> int:
    """How long it takes until all machines that are switched on together have booted, about."""
    return _BOOT_S[accel] * max(1, -(-machines // cpus))
