# SPDX-License-Identifier: Apache-2.0
"""What only a disk itself can tell: whether something boots from it, and how well it is.

A dead disk can keep whoever asks it waiting, so that all are asked at once, and nobody waits for the last.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Final

from muster.agent.inventory.found import CannotTell
from muster.agent.inventory.reading import parse_json
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.extras import Health
from muster.patience import finish_within
from muster.run import LATE, MISSING, Said

_DEADLINE_S: Final = 5.0
PATIENCE_S: Final = 12.0
_AT_ONCE: Final = 16
_MAY_BE_EMPTY: Final = ("sr", "fd")
_WITH_HEALTH: Final = ("sd", "hd", "nvme")
_LAST_BYTES: Final = ("od", "-A", "n", "-t", "x1", "-j", "510", "-N", "2")
"""Of the first sector. A program reads them, because one of ours could not be ended when the disk is dead."""
_SIGNATURE: Final = "55 aa"


@dataclass(frozen=True)
class Probe:
    """What a disk told."""

    is_bootable: bool | None = None
    smart: str = ""
    health: Health | None = None
    troubles: tuple[str, ...] = ()


async def probe_disks(
    machine: Machine, names: Sequence[str], patience_s: float = PATIENCE_S
) -> dict[str, Probe]:
    """What disks tell of themselves, by their names."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def probe(name: str) -> Probe:
        try:
            return await finish_within(_probe(machine, name, turns), patience_s)
        except TimeoutError:
            return Probe(troubles=(f"/dev/{name} does not answer",))

    return dict(zip(names, await asyncio.gather(*map(probe, names)), strict=True))


async def _probe(machine: Machine, name: str, turns: asyncio.Semaphore) -> Probe:
    async with turns:
        device = machine.root / "dev" / name
        head = await machine.ask([*_LAST_BYTES, device], deadline_s=_DEADLINE_S)
        is_bootable = is_boot_sector(head.out) if head.is_ok else None
        is_trouble = head.status == LATE or not (head.is_ok or name.startswith(_MAY_BE_EMPTY))
        troubles = (f"/dev/{name} cannot be read: {head.trouble}",) if is_trouble else ()
        if not name.startswith(_WITH_HEALTH) or head.status == LATE:
            return Probe(is_bootable, troubles=troubles)
        said = await machine.ask(["smartctl", "-j", "-H", "-i", device], deadline_s=_DEADLINE_S)
        smart = parse_smart(said.out)
        return Probe(is_bootable, smart, tell_health(smart), (*troubles, *_smart_troubles(name, said)))


def is_boot_sector(dump: str) -> bool:
    """Whether the end of the first sector, as od prints it, says that something starts from the disk."""
    return dump.strip() == _SIGNATURE


def parse_smart(text: str) -> str:
    """What smartctl said, without blanks; empty when there is nothing about the disk in it."""
    try:
        found = parse_json(text, "smartctl")
    except CannotTell:
        return ""
    has_told = isinstance(found, dict) and isinstance(found.get("smart_status"), dict)
    return json.dumps(found, separators=(",", ":"), allow_nan=True) if has_told else ""


def tell_health(smart: str) -> Health | None:
    """What a disk thinks of itself."""
    has_passed = json.loads(smart)["smart_status"].get("passed") if smart else None
    if not isinstance(has_passed, bool):
        return None
    return "passed" if has_passed else "failing"


def _smart_troubles(name: str, said: Said) -> tuple[str, ...]:
    if said.status == MISSING:
        return (f"the health of disks is not known: {said.trouble}",)
    return (f"/dev/{name} does not tell its health: {said.trouble}",) if said.status == LATE else ()
