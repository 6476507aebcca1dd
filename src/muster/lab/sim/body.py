# SPDX-License-Identifier: Apache-2.0
"""The machine under a modelled agent: what it says of itself, its clock, and what its disks were written."""

from __future__ import annotations

from random import Random
from typing import Final, Literal, TypeAlias

import msgspec

from muster.lab.sim.broken import Broken
from muster.lab.sim.links import Card, cards_of
from muster.lab.sim.machines import Machine
from muster.lab.sim.world import SPEEDS, DiskSpeed, World
from muster.model.wire.inventory import Disk, Interface

MB: Final = 1_000_000
_ENCODER: Final = msgspec.json.Encoder()
_NONE: Final[frozenset[str]] = frozenset()

Why: TypeAlias = Literal["speed check", "format", "image"]


class Written(msgspec.Struct, frozen=True):
    """That a disk was written to, and what for: compared with what the plan names."""

    path: str
    serial: str
    why: Why
    moment: float
    step_id: str


class Body:
    """A machine in the world."""

    def __init__(self, machine: Machine, world: World, random: Random) -> None:
        self.machine = machine
        self.world = world
        self.random = random
        self.name = machine.name
        self.written: list[Written] = []
        self.cards: tuple[Card, ...] = cards_of(machine, world)
        self.pulled: set[str] = set()
        """Images that it has already."""
        self._keys = frozenset(f"{self.name}/{card.name}" for card in machine.inventory.interfaces or ())
        self._inventories: dict[frozenset[str], str] = {}
        self._disks = {
            name: disk
            for disk in machine.inventory.disks or ()
            for name in (disk.path, disk.by_id, disk.by_path, disk.id)
            if name
        }

    @property
    def is_virtual(self) -> bool:
        """Whether it is itself a model, so to speak."""
        vendor = self.machine.inventory.system_vendor
        return bool(vendor and vendor.virtual)

    def boot_s(self) -> float:
        """Seconds from power to a running system; real machines test themselves first."""
        return 25.0 + 20.0 * self.random.random() if self.is_virtual else 150.0 + 120.0 * self.random.random()

    def broken(self, now: float) -> Broken:
        """What is broken now."""
        return self.world.broken(now)

    def inventory(self, now: float) -> str:
        """What it says of itself, as JSON; made once for each set of cards that have lost their link."""
        down = self.broken(now).down
        mine = self._keys & down if down else _NONE
        found = self._inventories.get(mine)
        if found is None:
            cards = tuple(self._as_is(card, mine) for card in self.machine.inventory.interfaces or ())
            whole = msgspec.structs.replace(self.machine.inventory, interfaces=cards)
            found = self._inventories[mine] = _ENCODER.encode(whole).decode()
        return found

    def _as_is(self, card: Interface, down: frozenset[str]) -> Interface:
        if f"{self.name}/{card.name}" not in down:
            return card
        return msgspec.structs.replace(card, has_carrier=None, ipv4_addresses=(), ipv6_addresses=())

    def clock_offset_s(self, now: float) -> float:
        """How far its clock is off."""
        broken = self.broken(now)
        if self.world.around.ntp_sets_clocks and "*" not in broken.ntp:
            return 0.0
        return broken.skew.get(self.name, 0.0)

    def find_disk(self, name: str) -> Disk | None:
        """A disk by any of its names."""
        return self._disks.get(name)

    def speed_of(self, disk: Disk, now: float) -> DiskSpeed:
        """What a disk can do now."""
        kind = "NVMe" if (disk.path or "").startswith("/dev/nvme") else disk.drive_type or "HDD"
        usual = self.world.around.speeds.get(kind) or SPEEDS.get(kind, SPEEDS["HDD"])
        broken = self.broken(now)
        rate = broken.rate.get(self.name, {}).get(disk.path or "")
        sync = broken.sync.get(self.name, {}).get(disk.path or "")
        if rate:
            # A sync writes the data, the journal and its end: a page each.
            usual = DiskSpeed(write_mb_s=rate / MB, sync_ms=max(usual.sync_ms, 3 * 4_096_000 // rate))
        return DiskSpeed(write_mb_s=usual.write_mb_s, sync_ms=sync) if sync else usual

    def is_full(self, disk: Disk, now: float) -> bool:
        """Whether a disk refuses writes now."""
        return disk.path in self.broken(now).full.get(self.name, ())

    def write(self, disk: Disk, why: Why, now: float, step_id: str) -> None:
        """Note that a disk was written to."""
        self.written.append(Written(disk.path or "", disk.serial or "", why, now, step_id))

    def pull(self, name: str, now: float) -> float | None:
        """Seconds until an image is there; None when it cannot be had."""
        if name in self.pulled:
            return 0.0
        image = self.world.image(name, self.broken(now))
        if not image.pullable:
            return None
        self.pulled.add(name)
        return image.size_bytes / (image.rate_mb_s * MB)
