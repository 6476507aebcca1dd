# SPDX-License-Identifier: Apache-2.0
"""Customizes a CoreOS live image: a few bytes that differ, never a new image.

The result hangs on the base and on what is wanted only, not on how the base was customized before.
"""

from __future__ import annotations

import stat
import struct
from collections.abc import Iterator, Mapping
from dataclasses import field

from muster.errors import MediaError
from muster.frozen import dataclass
from muster.image.compression import compress
from muster.image.coreos.areas import IGNITION_HEADER_AT, Area, Kargs, Layout, load_layout
from muster.image.coreos.kargs import Edit, edit_kargs, encode_kargs
from muster.image.cpio import Member, is_plain_directory, parse_archives, render_archive
from muster.image.iso.relocate import find_undo, next_place, relocate
from muster.image.iso.volume import Volume
from muster.image.overlay import Overlay, Patch

IGNITION_PATH = "config.ign"
NETWORK_FOLDER = "etc/coreos-firstboot-network"
NETWORK_FEATURE = "live-initrd-network"

_MOVED_UNIT = 64 << 10


@dataclass(frozen=True)
class Customization:
    """What a live image shall have beyond what it came with."""

    ignition: bytes | None = None
    network: Mapping[str, bytes] = field(default_factory=dict)
    initrd: tuple[Member, ...] = ()
    kargs_append: tuple[str, ...] = ()
    kargs_delete: tuple[str, ...] = ()
    kargs_replace: tuple[str, ...] = ()
    """As KEY=OLD=NEW."""


@dataclass(frozen=True)
class Contents:
    """What a live image has, and what it has room for."""

    label: str
    ignition: bytes | None
    network: Mapping[str, bytes]
    initrd: tuple[Member, ...]
    kargs: str | None
    default_kargs: str | None
    features: Mapping[str, bool]
    capacity_bytes: int
    is_moved: bool

    @property
    def is_customized(self) -> bool:
        has_members = self.ignition is not None or bool(self.network) or bool(self.initrd)
        return has_members or self.kargs != self.default_kargs


def read_contents(volume: Volume) -> Contents:
    """What an image was customized with, by whatever tool."""
    layout = load_layout(volume)
    ignition, network, others = None, {}, []
    for member in _load_members(volume, layout.ignition):
        folder, _, name = member.path.rpartition("/")
        if member.path == IGNITION_PATH:
            ignition = member.data
        elif folder == NETWORK_FOLDER and stat.S_ISREG(member.mode):
            network[name] = member.data
        elif not is_plain_directory(member):
            others.append(member)
    return Contents(
        label=volume.label,
        ignition=ignition,
        network=network,
        initrd=tuple(others),
        kargs=layout.kargs.current if layout.kargs else None,
        default_kargs=layout.kargs.default.strip() if layout.kargs else None,
        features=layout.features,
        capacity_bytes=layout.ignition.length,
        is_moved=_find_undo(volume, layout.ignition) is not None,
    )


def reset(volume: Volume) -> Overlay:
    """Give back the image as it came."""
    layout = load_layout(volume)
    undo = _find_undo(volume, layout.ignition)
    if undo is None:
        return Overlay.of(volume.file_size, _reset_areas(volume, layout))
    before = volume.view(undo)
    layout = load_layout(before)
    if _find_undo(before, layout.ignition) is not None:
        raise MediaError(f"the undo record of {volume.name} leads to another", hint="get the image again")
    return undo.then(Overlay.of(before.file_size, _reset_areas(before, layout)))


def customize(volume: Volume, wanted: Customization) -> Overlay:
    """Give an image what is wanted, instead of whatever it was customized with before."""
    _load_members(volume, load_layout(volume).ignition)
    clean = reset(volume)
    original = volume.view(clean)
    layout = load_layout(original)
    kargs = tuple(_edit_kargs(original, layout.kargs, wanted))
    archive = render_initrd(wanted, layout.features, original.name)
    area = layout.ignition
    if len(archive) > area.length:
        moved = _move(original, area, archive)
        return clean.then(moved).then(Overlay.of(moved.size, kargs))
    patches = [*kargs, Patch(area.offset, archive.ljust(area.length, b"\0"), area.name)] if archive else kargs
    return clean.then(Overlay.of(original.file_size, patches))


def render_initrd(wanted: Customization, features: Mapping[str, bool], name: str) -> bytes:
    """The packed archive that the boot loader adds to the initial RAM disk; empty if there is none."""
    if wanted.network and not features.get(NETWORK_FEATURE):
        raise MediaError(
            f"{name} cannot be given network settings",
            hint="use a newer base image, or set the network with kernel arguments",
        )
    members = list(wanted.initrd)
    if wanted.ignition is not None:
        members.append(Member(IGNITION_PATH, wanted.ignition))
    for file, data in wanted.network.items():
        if "/" in file:
            raise MediaError(f"{file!r} is not the name of a network file", hint="use a plain file name")
        members.append(Member(f"{NETWORK_FOLDER}/{file}", data))
    return compress(render_archive(members)) if members else b""


def _find_undo(volume: Volume, area: Area) -> Overlay | None:
    return find_undo(volume, area.file) if area.file else None


def _load_members(volume: Volume, area: Area) -> tuple[Member, ...]:
    return parse_archives(volume.read(area.offset, area.length), f"{area.name} of {volume.name}")


def _reset_areas(volume: Volume, layout: Layout) -> Iterator[Patch]:
    area = layout.ignition
    if volume.read(area.offset, area.length).strip(b"\0"):
        yield Patch(area.offset, bytes(area.length), area.name)
    if layout.kargs:
        yield from _set_kargs(layout.kargs, layout.kargs.default.strip())


def _edit_kargs(volume: Volume, kargs: Kargs | None, wanted: Customization) -> Iterator[Patch]:
    edit = Edit(delete=wanted.kargs_delete, append=wanted.kargs_append, replace=wanted.kargs_replace)
    if kargs:
        yield from _set_kargs(kargs, edit_kargs(kargs.default, edit))
    elif wanted.kargs_delete or wanted.kargs_append or wanted.kargs_replace:
        raise MediaError(
            f"{volume.name} has no room for kernel arguments",
            hint="use a newer base image, or leave out the kernel arguments",
        )


def _set_kargs(kargs: Kargs, text: str) -> Iterator[Patch]:
    if text != kargs.current:
        for place in kargs.areas:
            data = encode_kargs(text, kargs.size, pad=place.pad, end=place.end)
            yield Patch(place.area.offset, data, place.area.name)


def _move(volume: Volume, area: Area, archive: bytes) -> Overlay:
    if area.file is None:
        raise MediaError(
            f"the Ignition config and its files have {len(archive)} bytes when packed;"
            f" {volume.name} has room for {area.length}, and the room cannot grow",
            hint="make the Ignition config smaller: let it fetch large files, or leave some out",
        )
    room = -(-len(archive) // _MOVED_UNIT) * _MOVED_UNIT
    return relocate(volume, area.file, archive.ljust(room, b"\0"), tuple(_move_header(volume, area, room)))


def _move_header(volume: Volume, area: Area, room: int) -> Iterator[Patch]:
    """Tools of before 2022 read a header in place of the tree."""
    old = b"coreiso+" + struct.pack("<QQ", area.offset, area.length)
    if volume.read(IGNITION_HEADER_AT, len(old)) == old:
        place = struct.pack("<QQ", next_place(volume), room)
        yield Patch(IGNITION_HEADER_AT + 8, place, "the Ignition header")
