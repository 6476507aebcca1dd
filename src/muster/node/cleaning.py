# SPDX-License-Identifier: Apache-2.0
"""In which order to take apart what is built on disks that are to be emptied, and what has to stay.

Only what is on those disks alone is removed. An array that other disks mirror is stopped, and its members
on the others stay as they are; a volume group or a striped array that needs another disk is not touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import TopologicalSorter
from typing import Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.node.blocks import Block, Blocks, disks_below, find_block, on_top_of
from muster.node.content import Groups

_NOT_MIRRORED: Final = ("raid0", "linear")
_GROUP: Final = "volume group "


@dataclass(frozen=True)
class Disks:
    """The disks to empty, among all devices."""

    blocks: Blocks
    ours: frozenset[str]
    """By kernel's names."""
    groups: Groups

    @property
    def on_top(self) -> tuple[Block, ...]:
        """What is built on them."""
        return on_top_of(self.blocks, *self.ours)

    def others(self, kname: str) -> frozenset[str]:
        """Disks that something is on, and that are to stay as they are."""
        return disks_below(self.blocks, kname, self.ours) - self.ours

    def parts(self) -> Iterator[Block]:
        """Their partitions."""
        return (block for block in self.on_top if is_partition(block, self.ours))


def is_partition(block: Block, disks: frozenset[str]) -> bool:
    """Whether it is a partition that the kernel made of one of the disks."""
    return block.kind == "part" and not block.is_mapped and disks.issuperset(block.parents)


def plan_cleaning(disks: Disks) -> tuple[tuple[str, ...], ...]:
    """The commands in order: what is on top first, signatures last. `UserError` if something has to stay."""
    order: TopologicalSorter[str] = TopologicalSorter()
    homes = _homes(disks)
    for block in disks.on_top:
        unit = homes.get(block.kname, block.kname)
        order.add(unit)
        for parent in block.parents:
            below = homes.get(parent, parent)
            if below != unit:
                order.add(below, unit)
    for name, volumes in _our_groups(disks).items():
        for volume in volumes:
            order.add(homes.get(volume.kname, volume.kname), _GROUP + name)
    commands = [command for unit in order.static_order() for command in _take_apart(disks, unit)]
    wiped = (*disks.parts(), *(disks.blocks[kname] for kname in sorted(disks.ours)))
    return (*commands, *(_wipe(block) for block in wiped))


def _wipe(block: Block) -> tuple[str, ...]:
    return ("wipefs", "--all", "--force", block.path)


def _our_groups(disks: Disks) -> dict[str, list[Block]]:
    """The volume groups that have a volume on these disks, with all volumes. None may need another disk."""
    inside = disks.ours.union(block.kname for block in disks.on_top)
    found: dict[str, list[Block]] = {}
    for name, paths in disks.groups.items():
        volumes = {path: find_block(disks.blocks, path) for path in paths}
        elsewhere = [path for path, block in volumes.items() if block is None or block.kname not in inside]
        if len(elsewhere) == len(volumes):
            continue
        if elsewhere:
            raise _needs_others(f"the LVM volume group {name}", [_volume_name(each) for each in elsewhere])
        found[name] = [block for block in volumes.values() if block is not None]
    return found


def _volume_name(path: str) -> str:
    return path if path.startswith("/") else "a disk that is missing"


def _homes(disks: Disks) -> dict[str, str]:
    """The volume group of each logical volume: it goes with its group."""
    group_of = {volume.kname: name for name, volumes in _our_groups(disks).items() for volume in volumes}
    homes: dict[str, str] = {}
    for block in disks.on_top:
        if block.kind != "lvm":
            continue
        for parent in block.parents:
            if parent in group_of:
                homes[block.kname] = _GROUP + group_of[parent]
            elif parent in homes:
                homes[block.kname] = homes[parent]
    return homes


def _take_apart(disks: Disks, unit: str) -> Iterator[tuple[str, ...]]:
    if unit.startswith(_GROUP):
        yield _remove_group(disks, unit.removeprefix(_GROUP))
        return
    block = disks.blocks[unit]
    if unit in disks.ours:
        return
    if block.is_array:
        others = disks.others(unit)
        if others and block.kind in _NOT_MIRRORED:
            raise _needs_others(f"the {block.kind} array {block.path}", _paths(disks, others))
        yield ("mdadm", "--stop", block.path)
    elif block.is_mapped:
        if (
            block.kind == "part"
        ):  # Of a multipath device; once it is removed, its signatures cannot be reached.
            yield _wipe(block)
        yield ("dmsetup", "remove", "--retry", block.name)


def _remove_group(disks: Disks, name: str) -> tuple[str, ...]:
    """A group on an array that other disks mirror is only put to rest: to remove it changes the mirror."""
    volumes = _our_groups(disks)[name]
    if any(disks.others(volume.kname) for volume in volumes):
        return ("vgchange", "--activate", "n", name)
    return ("vgremove", "--force", "--yes", name)


def _paths(disks: Disks, knames: frozenset[str]) -> list[str]:
    return [disks.blocks[kname].path for kname in sorted(knames)]


def _needs_others(what: str, others: list[str]) -> UserError:
    return UserError(
        f"{what} is also on {', '.join(dict.fromkeys(others))}, which is not to be erased",
        hint="remove it by hand if nobody needs it any more, or choose another installation disk",
    )
