# SPDX-License-Identifier: Apache-2.0
"""The disks of this machine: what they are, which one it was started from, and that they stay the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from muster.errors import ExternalError
from muster.machine import Machine
from muster.model.medium import MEDIUM
from muster.node.blocks import DISKS, LSBLK, Block, Blocks, on_top_of, parse_blocks
from muster.node.content import PVS, Groups, parse_groups, render_content
from muster.node.plan import Content, DiskFacts, Image, InstallPlan, check_identity
from muster.run import MISSING

CARRIED: Final = "/run/muster/metal"
"""The image that our live system runs from, as a device."""
CARRIED_HASH: Final = "/run/muster/metal.sha256"
"""What that image has to hash to, and its size; the initial RAM disk writes it."""
_LABEL: Final = "coreos.liveiso="
_DEADLINE_S: Final = 60.0
_STEADY: Final = ("wwn-", "nvme-eui.", "nvme-uuid.")


async def read_blocks(machine: Machine) -> Blocks:
    """All block devices."""
    said = await machine.ask(LSBLK, deadline_s=_DEADLINE_S)
    if not said.is_ok:
        raise ExternalError(
            f"the disks of this machine cannot be listed: {said.trouble}",
            hint="a disk that does not answer may hold it up: see the kernel's messages with dmesg",
        )
    return parse_blocks(said.out)


async def read_groups(machine: Machine, blocks: Blocks) -> Groups:
    """The volume groups of LVM; where there is none, LVM need not be there, either."""
    said = await machine.ask(PVS, deadline_s=_DEADLINE_S)
    if said.is_ok:
        return parse_groups(said.out)
    if said.status == MISSING and not any(block.fstype == "LVM2_member" for block in blocks.values()):
        return {}
    raise ExternalError(
        f"LVM does not tell what its volumes are: {said.trouble}", hint=f"run it by hand: {' '.join(PVS)}"
    )


async def read_disks(machine: Machine, also: Collection[str] = ()) -> tuple[DiskFacts, ...]:
    """What is known of each disk; devices of the kinds in ``also`` are taken for disks, too."""
    blocks = await read_blocks(machine)
    groups = await read_groups(machine, blocks)
    links = read_links(machine.root)
    label = _medium_label(machine.root)
    return tuple(
        _facts(block, blocks, (groups, links, label))
        for block in blocks.values()
        if block.kind in DISKS or block.is_array or block.kind in also
    )


async def identify_again(machine: Machine, plan: InstallPlan, also: Collection[str] = ()) -> None:
    """Right before something is erased: each disk of the plan still is the one that the plan means."""
    disks = await read_disks(machine, also)
    for planned in (plan.disk, *plan.formatted):
        check_identity(planned, disks)


def find_image(machine: Machine) -> Image | None:
    """The image that this live system carries with it; CoreOS has its own way."""
    path = machine.root / CARRIED.lstrip("/")
    try:
        with path.open("rb") as file:
            return Image(CARRIED, file.seek(0, 2), _find_content(machine.root / CARRIED_HASH.lstrip("/")))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ExternalError(
            f"the system's image {CARRIED} cannot be opened: {(error.strerror or str(error)).lower()}",
            hint="the medium may be damaged or disconnected: connect it again, and restart this host",
        ) from error


def _find_content(path: Path) -> Content | None:
    """What the image has to be, as the initial RAM disk says; media of other builds do not say it."""
    try:
        sha256, size = path.read_text("ascii").split()
        return Content(sha256, int(size))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ExternalError(
            f"{path} does not say what the system's image has to be", hint="make the medium again"
        ) from error


def read_links(root: Path) -> Mapping[str, tuple[str, ...]]:
    """The names below /dev/disk of each device, by the kernel's name."""
    found: dict[str, tuple[str, ...]] = {}
    for folder in ("by-id", "by-path"):
        place = root / "dev/disk" / folder
        for link in sorted(place.iterdir()) if place.is_dir() else ():
            if link.is_symlink():
                kname = link.readlink().name
                found[kname] = (*found.get(kname, ()), f"/dev/disk/{folder}/{link.name}")
    return found


def _medium_label(root: Path) -> str:
    """The label of the medium that the kernel was told to look for."""
    try:
        words = (root / "proc/cmdline").read_text("utf-8", errors="replace").split()
    except OSError:
        return ""
    return next((word.removeprefix(_LABEL) for word in reversed(words) if word.startswith(_LABEL)), "")


def _facts(
    block: Block, blocks: Blocks, known: tuple[Groups, Mapping[str, tuple[str, ...]], str]
) -> DiskFacts:
    groups, links, label = known
    inside = (block, *on_top_of(blocks, block.kname))
    names = links.get(block.kname, ())
    over = next((each for each in inside if each.kind == "mpath" and block.kname in each.parents), None)
    return DiskFacts(
        path=block.path,
        size_bytes=block.size_bytes,
        by_id=_steady_name(names),
        links=names,
        serial=block.serial,
        wwn=block.wwn,
        model=block.model,
        kind=block.kind,
        content=render_content(blocks, block, groups),
        is_medium=any(_is_medium(each, label) for each in inside),
        mounted=tuple(f"{each.path} at {place}" for each in inside for place in each.mounts),
        member_of=over.path if over is not None else "",
        read_only=block.read_only,
    )


def _steady_name(names: tuple[str, ...]) -> str:
    by_id = [name for name in names if name.startswith("/dev/disk/by-id/")]
    return next((name for name in by_id if Path(name).name.startswith(_STEADY)), by_id[0] if by_id else "")


def _is_medium(block: Block, label: str) -> bool:
    return MEDIUM in block.mounts or bool(label and block.fstype == "iso9660" and block.label == label)
