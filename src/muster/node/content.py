# SPDX-License-Identifier: Apache-2.0
"""What is on a disk, in words, and which volume groups its devices belong to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from muster.errors import ExternalError
from muster.node.blocks import Block, Blocks, find_block, on_top_of

PVS: Final = ("pvs", "--reportformat", "json", "--options", "pv_name,vg_name")
_WORDS: Final = {"crypto_LUKS": "an encrypted volume", "swap": "swap space"}
_INSIDE: Final = ("LVM2_member", "linux_raid_member", "isw_raid_member", "ddf_raid_member", "mpath_member")
"""Signatures whose content is shown as devices of their own."""


class _Volume(msgspec.Struct):
    pv_name: str
    vg_name: str


class _Volumes(msgspec.Struct):
    pv: tuple[_Volume, ...] = ()


class _Report(msgspec.Struct):
    report: tuple[_Volumes, ...]


Groups = Mapping[str, tuple[str, ...]]
"""Volume groups, with the paths of their volumes as LVM knows them; "[unknown]" for a missing one."""


def parse_groups(text: str) -> Groups:
    """What ``pvs`` with the arguments above has said."""
    try:
        report = msgspec.json.decode(text, type=_Report)
    except msgspec.DecodeError as error:
        raise ExternalError(
            f"the answer of LVM about its volumes cannot be read: {error}",
            hint=f"run it by hand: {' '.join(PVS)}",
        ) from error
    found: dict[str, tuple[str, ...]] = {}
    for volumes in report.report:
        for volume in volumes.pv:
            if volume.vg_name:
                found[volume.vg_name] = (*found.get(volume.vg_name, ()), volume.pv_name)
    return found


def render_content(blocks: Blocks, disk: Block, groups: Groups) -> str:
    """What is lost when a disk is erased: "LVM vg0, RAID md127 and 3 partitions"."""
    inside = (disk, *on_top_of(blocks, disk.kname))
    knames = {block.kname for block in inside}
    parts = [f"LVM {name}" for name, paths in groups.items() if _is_on(blocks, paths, knames)]
    parts += [f"RAID {block.name}" for block in inside[1:] if block.is_array]
    parts += [words for block in inside if (words := _file_system(block))]
    count = sum(1 for block in inside[1:] if block.kind == "part")
    if count and not parts:
        parts.append("1 partition" if count == 1 else f"{count} partitions")
    return _listed(list(dict.fromkeys(parts)))


def _is_on(blocks: Blocks, paths: tuple[str, ...], knames: set[str]) -> bool:
    return any((block := find_block(blocks, path)) is not None and block.kname in knames for path in paths)


def _file_system(block: Block) -> str:
    if not block.fstype or block.fstype in _INSIDE:
        return ""
    if block.fstype in _WORDS:
        return _WORDS[block.fstype]
    name = f" {block.label}" if block.label else ""
    return f"the {block.fstype} file system{name}"


def _listed(parts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
