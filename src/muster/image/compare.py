# SPDX-License-Identifier: Apache-2.0
"""Where two media differ, by the name of the area and of the field in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from muster.errors import MediaError
from muster.image.coreos.customize import read_contents
from muster.image.iso.volume import Volume
from muster.image.overlay import Overlay, Pread
from muster.image.reading import parse_ignition

_STEP: Final = 4 << 20


def first_difference(
    found: Pread, wanted: Pread, size: int, advance: Callable[[int], None] = lambda _count: None
) -> int | None:
    """The first byte in which two readers differ within a size, or None."""
    for offset in range(0, size, _STEP):
        length = min(_STEP, size - offset)
        one, two = found(offset, length), wanted(offset, length)
        if one != two:
            return offset + next(
                (at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b),
                min(len(one), len(two)),
            )
        advance(length)
    return None


def explain_difference(found: Volume, wanted: Volume, overlay: Overlay | None, offset: int) -> str:
    """What a byte that differs belongs to; ``overlay`` tells it from a base image, if there is one."""
    if overlay is None:
        return _find_file(wanted, offset)
    name, field = overlay.name_at(offset), _differing_field(found, wanted)
    if name or field:
        return ": ".join(part for part in (name, field) if part)
    return f"{_find_file(wanted, offset)}: it is of another base image"


def _find_file(volume: Volume, offset: int) -> str:
    for extent in volume.walk():
        if extent.offset <= offset < extent.offset + extent.length:
            return f"{extent.path}, byte {offset - extent.offset} of it"
    return "the structure of the image"


def _differing_field(found: Volume, wanted: Volume) -> str:
    """The first value in which the customizations of two live images differ."""
    try:
        one, two = read_contents(found), read_contents(wanted)
    except MediaError as error:
        return error.message
    if one.kargs != two.kargs:
        return f"kernel arguments {sorted(set((one.kargs or '').split()) ^ set((two.kargs or '').split()))}"
    if one.ignition != two.ignition and one.ignition is not None and two.ignition is not None:
        name = found.name
        try:
            return find_difference(parse_ignition(one.ignition, name), parse_ignition(two.ignition, name))
        except MediaError as error:
            return error.message
    if one.ignition != two.ignition:
        return "one has an Ignition config, the other has none"
    if one.network != two.network or one.initrd != two.initrd:
        names = {each.path for each in set(one.initrd) ^ set(two.initrd)}
        return f"initrd files {', '.join(sorted(names | (one.network.keys() ^ two.network.keys())))}"
    return ""


def find_difference(one: Any, two: Any, where: str = "") -> str:
    """The first place in which two trees differ; entries of lists are named as people call them."""
    if isinstance(one, dict) and isinstance(two, dict):
        for key in sorted(one.keys() | two.keys()):
            place = f"{where}.{key}" if where else key
            if key not in one or key not in two:
                return place
            if one[key] != two[key]:
                return find_difference(one[key], two[key], place)
    if isinstance(one, list) and isinstance(two, list):
        named, other = _named(one), _named(two)
        for key in sorted(named.keys() | other.keys()):
            if named.get(key) != other.get(key):
                place = f"{where}[{key}]"
                return (
                    find_difference(named[key], other[key], place) if key in named and key in other else place
                )
    return where


def _named(entries: list[Any]) -> Mapping[str, Any]:
    found = {}
    for index, entry in enumerate(entries):
        name = (entry.get("path") or entry.get("name")) if isinstance(entry, dict) else None
        found[str(name or index)] = entry
    return found
