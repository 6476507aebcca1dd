# SPDX-License-Identifier: Apache-2.0
"""Where a CoreOS live image keeps room to be customized: the Ignition area, the kernel argument areas.

Today's images describe them in /coreos/*.json; older ones in headers at the end of the system area.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from itertools import pairwise

from muster.errors import MediaError
from muster.frozen import dataclass
from muster.image.coreos.kargs import decode_kargs, encode_kargs
from muster.image.iso.records import DAMAGED
from muster.image.iso.volume import Extent, Volume

IGNITION_HEADER_AT = 32744
KARGS_JSON = "coreos/kargs.json"

_IGNITION_HEADER = struct.Struct("<8sQQ")
_KARGS_HEADER_AT = 32672
_KARGS_HEADER = struct.Struct("<8sQQ6Q")
_MAX_JSON = 1 << 16
_MAX_KARGS = 2048
_MAX_IGNITION = 1 << 30


@dataclass(frozen=True)
class Area:
    """Bytes of the image that may be changed; `file` when they are the whole of a file."""

    name: str
    offset: int
    length: int
    file: Extent | None = None

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True)
class KargsArea:
    """One place that holds the kernel arguments, and how the text is ended and padded there."""

    area: Area
    pad: str = "#"
    end: str = "\n"


@dataclass(frozen=True)
class Kargs:
    """The kernel arguments of an image: what they are, what they were, and every place that holds them."""

    current: str
    default: str
    size: int
    areas: tuple[KargsArea, ...]
    info: Extent | None


@dataclass(frozen=True)
class Layout:
    """Everything of a live image that may be changed, and what its operating system can do."""

    ignition: Area
    kargs: Kargs | None
    features: Mapping[str, bool]


def load_layout(volume: Volume) -> Layout:
    """Find the areas; an image that has none, or whose areas cannot be right, is refused."""
    ignition = _find_ignition(volume)
    if ignition is None:
        raise MediaError(
            f"{volume.name} is not a CoreOS live image: it has no room for an Ignition config",
            hint="give the path of a live ISO, such as rhcos-live.iso",
        )
    kargs = _find_kargs(volume)
    areas = [ignition, *(place.area for place in kargs.areas)] if kargs else [ignition]
    _check_apart(volume, areas)
    return Layout(ignition, kargs, _load_features(volume))


def load_json(volume: Volume, path: str) -> tuple[Mapping[str, object], Extent] | None:
    """One of the small JSON files of the image."""
    extent = volume.find(path)
    if extent is None:
        return None
    try:
        value = json.loads(volume.load(extent, limit=_MAX_JSON))
    except (ValueError, RecursionError) as error:
        raise MediaError(f"{path} in {volume.name} is not JSON", hint=DAMAGED) from error
    if not isinstance(value, dict):
        raise MediaError(f"{path} in {volume.name} is not a JSON object", hint=DAMAGED)
    return value, extent


def _find_ignition(volume: Volume) -> Area | None:
    loaded = load_json(volume, "coreos/igninfo.json")
    if loaded is None:
        file = volume.find("images/ignition.img")
        if file is None:
            return _find_legacy_ignition(volume)
        return _checked(volume, Area("the Ignition area", file.offset, file.length, file))
    info, where = loaded
    path = _text(info, "file", where)
    file = volume.find(path)
    if file is None:
        raise MediaError(f"{where.path} names {path}, which is not in {volume.name}", hint=DAMAGED)
    offset = _number(info, "offset", where, default=0)
    length = _number(info, "length", where, default=max(file.length - offset, 0))
    whole = file if info.get("offset") is None and info.get("length") is None else None
    return _checked(volume, Area("the Ignition area", file.offset + offset, length, whole), file)


def _find_legacy_ignition(volume: Volume) -> Area | None:
    magic, offset, length = _IGNITION_HEADER.unpack(volume.read(IGNITION_HEADER_AT, _IGNITION_HEADER.size))
    if magic != b"coreiso+":
        return None
    return _checked(volume, Area("the Ignition area", offset, length))


def _find_kargs(volume: Volume) -> Kargs | None:
    loaded = load_json(volume, KARGS_JSON)
    if loaded is None:
        return _find_legacy_kargs(volume)
    info, where = loaded
    size = _check_size(_number(info, "size", where), volume)
    files = info.get("files")
    if not isinstance(files, list) or not files:
        raise MediaError(f"{where.path} in {volume.name} names no files", hint=DAMAGED)
    places = tuple(sorted(_parse_places(volume, files, where, size), key=lambda place: place.area.offset))
    return _agreed(volume, Kargs("", _text(info, "default", where), size, places, where))


def _parse_places(volume: Volume, files: list[object], where: Extent, size: int) -> Iterator[KargsArea]:
    for entry in files:
        if not isinstance(entry, dict):
            raise MediaError(f"{where.path} in {volume.name} has a file that is not an object", hint=DAMAGED)
        path = _text(entry, "path", where)
        file = volume.find(path)
        if file is None:
            raise MediaError(f"{where.path} names {path}, which is not in {volume.name}", hint=DAMAGED)
        offset = file.offset + _number(entry, "offset", where)
        area = Area(f"the kernel arguments in {path}", offset, size)
        yield KargsArea(
            _checked(volume, area, file),
            _character(entry, "pad", where, default="#"),
            _character(entry, "end", where, default="\n"),
        )


def _find_legacy_kargs(volume: Volume) -> Kargs | None:
    magic, size, default_at, *offsets = _KARGS_HEADER.unpack(
        volume.read(_KARGS_HEADER_AT, _KARGS_HEADER.size)
    )
    if magic != b"coreKarg":
        return None
    _check_size(size, volume)
    used = offsets[: offsets.index(0)] if 0 in offsets else offsets
    if not used:
        raise MediaError(f"{volume.name} names no place of its kernel arguments", hint=DAMAGED)
    default = _checked(volume, Area("the default kernel arguments", default_at, size))
    text = decode_kargs(volume.read(default.offset, size), what=default.name)
    areas = (Area(f"the kernel arguments at byte {offset}", offset, size) for offset in used)
    places = tuple(KargsArea(_checked(volume, area)) for area in areas)
    return _agreed(volume, Kargs("", text, size, places, None))


def _agreed(volume: Volume, kargs: Kargs) -> Kargs:
    """With the text that all places hold."""
    if len(kargs.default.encode()) >= kargs.size:
        raise MediaError(
            f"the default kernel arguments of {volume.name} are longer than their area of {kargs.size}",
            hint=DAMAGED,
        )
    texts = {}
    for place in kargs.areas:
        data = volume.read(place.area.offset, place.area.length)
        text = decode_kargs(data, pad=place.pad, end=place.end, what=place.area.name)
        # Text that was moved without its offset being told would be overwritten at the wrong place.
        if len(text.encode()) >= kargs.size or data != encode_kargs(
            text, kargs.size, pad=place.pad, end=place.end
        ):
            raise MediaError(
                f"{place.area.name} are not at byte {place.area.offset} of {volume.name}", hint=DAMAGED
            )
        texts[text] = place.area.name
    if len(texts) > 1:
        raise MediaError(f"{' and '.join(texts.values())} differ in {volume.name}", hint=DAMAGED)
    return Kargs(next(iter(texts)), kargs.default, kargs.size, kargs.areas, kargs.info)


def _load_features(volume: Volume) -> Mapping[str, bool]:
    loaded = load_json(volume, "coreos/features.json")
    return {key: value for key, value in loaded[0].items() if isinstance(value, bool)} if loaded else {}


def _checked(volume: Volume, area: Area, file: Extent | None = None) -> Area:
    """An area that is in the image, behind its descriptors, and in its file."""
    start, end = (file.offset, file.end) if file else (0, volume.file_size)
    if not 0 < area.length <= _MAX_IGNITION or area.offset < volume.descriptors_end:
        raise MediaError(
            f"{area.name} in {volume.name} is said to be {area.length} bytes at {area.offset}", hint=DAMAGED
        )
    if area.offset < start or area.end > end:
        raise MediaError(
            f"{area.name} in {volume.name} is said to be at bytes {area.offset} to {area.end},"
            f" but only {start} to {end} are there",
            hint=DAMAGED,
        )
    return area


def _check_apart(volume: Volume, areas: list[Area]) -> None:
    """Areas may share bytes neither with each other nor with a directory or another file."""
    ordered = sorted(areas, key=lambda area: area.offset)
    for first, second in pairwise(ordered):
        if first.end > second.offset:
            raise MediaError(f"{first.name} and {second.name} overlap in {volume.name}", hint=DAMAGED)
    holders: dict[str, set[tuple[int, int]]] = {area.name: set() for area in areas}
    for entry in volume.entries():
        for area in areas:
            if entry.offset >= area.end or area.offset >= entry.end:
                continue
            if entry.is_directory:
                raise MediaError(f"{area.name} overlaps {entry.path} in {volume.name}", hint=DAMAGED)
            holders[area.name].add((entry.offset, entry.end))
            if len(holders[area.name]) > 1:
                raise MediaError(f"{area.name} is in more than one file of {volume.name}", hint=DAMAGED)


def _check_size(size: int, volume: Volume) -> int:
    if not 0 < size <= _MAX_KARGS:
        raise MediaError(
            f"the kernel argument areas of {volume.name} are said to have {size} bytes;"
            f" 1 to {_MAX_KARGS} are possible",
            hint=DAMAGED,
        )
    return size


def _text(info: Mapping[str, object], key: str, where: Extent) -> str:
    value = info.get(key)
    if not isinstance(value, str) or (not value.strip("/ ") and key != "default"):
        raise MediaError(f"{key} in {where.path} is not a text", hint=DAMAGED)
    return value


def _number(info: Mapping[str, object], key: str, where: Extent, *, default: int | None = None) -> int:
    value = default if info.get(key) is None else info[key]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise MediaError(f"{key} in {where.path} is not a size or an offset", hint=DAMAGED)
    return value


def _character(info: Mapping[str, object], key: str, where: Extent, *, default: str) -> str:
    value = default if info.get(key) is None else info[key]
    if not isinstance(value, str) or len(value) != 1 or not value.isascii():
        raise MediaError(f"{key} in {where.path} is not one ASCII character", hint=DAMAGED)
    return value
