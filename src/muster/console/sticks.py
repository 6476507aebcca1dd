# SPDX-License-Identifier: Apache-2.0
"""USB sticks: which are there, and a support bundle onto one of them. Nothing is formatted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.machine import Machine

_COLUMNS: Final = "PATH,FSTYPE,LABEL,SIZE,RM,HOTPLUG,TRAN,RO,MODEL,MOUNTPOINTS"
_UNFIT: Final = frozenset({"iso9660", "squashfs", "swap", "LVM2_member", "crypto_LUKS", "linux_raid_member"})
"""What nobody can write a file to."""
_PLACE: Final = "run/muster-usb"
"""Not beside the boards: what is there goes into the bundle."""
_ASK_S: Final = 15.0
_BUNDLE_S: Final = 1200.0


@dataclass(frozen=True)
class Stick:
    """A file system on something that can be taken out."""

    path: str
    kind: str
    label: str = ""
    size: str = ""
    model: str = ""

    @property
    def words(self) -> str:
        """For people."""
        return "  ".join(each for each in (self.path, self.size, self.kind, self.label, self.model) if each)


async def find_sticks(machine: Machine) -> tuple[Stick, ...]:
    """The sticks that are there."""
    said = await machine.ask(["lsblk", "--json", "--output", _COLUMNS], deadline_s=_ASK_S)
    return parse_sticks(said.out) if said.is_ok else ()


def parse_sticks(text: str) -> tuple[Stick, ...]:
    """The sticks in what lsblk says."""
    try:
        found = json.loads(text)["blockdevices"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    disks = found if isinstance(found, list) else ()
    return tuple(stick for disk in disks if isinstance(disk, dict) for stick in _sticks(disk, disk))


def _sticks(found: dict[str, Any], disk: dict[str, Any]) -> Iterator[Stick]:
    for each in found.get("children") or ():
        if isinstance(each, dict):
            yield from _sticks(each, disk)
    is_movable = bool(disk.get("rm") or disk.get("hotplug")) or disk.get("tran") == "usb"
    kind, mounts = found.get("fstype"), [each for each in found.get("mountpoints") or () if each]
    if not is_movable or not kind or kind in _UNFIT or found.get("ro") or mounts:
        return
    texts = {name: str(found.get(name) or "").strip() for name in ("path", "label", "size")}
    yield Stick(texts["path"], str(kind), texts["label"], texts["size"], str(disk.get("model") or "").strip())


async def save_bundle(machine: Machine, stick: Stick) -> str:
    """Write a support bundle onto a stick, and tell its name; an ExternalError says why that cannot be."""
    place = await asyncio.to_thread(_make_place, machine.root / _PLACE)
    try:
        options = "nosuid,nodev,noexec"
        said = await machine.ask(["mount", "-o", options, stick.path, place], deadline_s=60.0)
        if not said.is_ok:
            raise ExternalError(f"{stick.path} cannot be used: {said.trouble}", hint="try another stick")
        try:
            said = await machine.ask(["muster", "host", "bundle", "--to", place], deadline_s=_BUNDLE_S)
        finally:
            gone = await machine.ask(["umount", place], deadline_s=300.0)
        if not said.is_ok:
            raise ExternalError(f"no bundle was written: {said.trouble}", hint="see the journal")
        if not gone.is_ok:
            raise ExternalError(
                f"{stick.path} is still in use: {gone.trouble}", hint="wait before you pull it"
            )
        return Path(said.out.strip().rpartition("\n")[2]).name
    finally:
        await asyncio.to_thread(place.rmdir)


def _make_place(folder: Path) -> Path:
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    return Path(mkdtemp(prefix="usb-", dir=folder))
