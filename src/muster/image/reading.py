# SPDX-License-Identifier: Apache-2.0
"""What a finished medium holds, whichever tool made it: Ignition config, kernel arguments, files, labels."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from muster.errors import MediaError
from muster.frozen import dataclass
from muster.image.compression import decompress
from muster.image.coreos.customize import Contents, read_contents
from muster.image.cpio import parse_archives
from muster.image.ignition.label import PATH as LABEL_FILE
from muster.image.ignition.merge import list_entries
from muster.image.ignition.unconfigured import CONFIG_LABEL
from muster.image.image_based.config import LABEL as CLUSTER_CONFIG_LABEL
from muster.image.iso.volume import Volume

_MOST: Final = 64 << 20
"""No file of a configuration is larger."""
_MOST_OF_ALL: Final = 256 << 20
"""All files of a configuration together are not larger."""


_DEEPEST: Final = 8
"""How many configs may be carried one inside the other."""
_MOST_CARRIED: Final = 64 << 20
"""Bytes of configs that other configs carry, and of the files in them, unpacked and in all."""
_MOST_CONFIGS: Final = 100
_CONFIG: Final = ".ign"


class Kind(StrEnum):
    """What a medium is for."""

    LIVE = "live system"
    SITE_CONFIG = "configuration of a site"
    CLUSTER_CONFIG = "configuration of an image-based cluster"


@dataclass(frozen=True)
class Embedded:
    """A file that the medium puts onto a host."""

    path: str
    mode: int
    data: bytes = field(repr=False)


class Budget:
    """How much of configs inside of configs is still read; the rest is not, and that is said."""

    def __init__(self) -> None:
        self._bytes, self._configs = _MOST_CARRIED, _MOST_CONFIGS
        self.unread = ""
        """Why something was not read."""

    def take(self, size: int) -> bool:
        """Whether so many more bytes may be read."""
        self._bytes -= size
        if self._bytes < 0:
            self.unread = f"the configs in it unpack to more than {_MOST_CARRIED >> 20} MiB"
        return self._bytes >= 0

    def take_config(self, depth: int) -> bool:
        """Whether one more config may be read at a depth."""
        if depth > _DEEPEST:
            self.unread = self.unread or f"configs are carried more than {_DEEPEST} levels deep"
            return False
        self._configs -= 1
        if self._configs < 0:
            self.unread = f"it has more than {_MOST_CONFIGS} configs inside of configs"
        return self._configs >= 0


@dataclass(frozen=True)
class Reading:
    """A medium that was read."""

    kind: Kind
    label: str
    size_bytes: int
    files: tuple[Embedded, ...]
    live: Contents | None = None
    """What only a live system has: boot arguments, room, features."""
    tree: Mapping[str, Any] | None = None
    """The Ignition config of a live system, if it has one."""
    made_for: Mapping[str, Any] = field(default_factory=dict)
    """What the medium says about itself, if Muster made it."""
    budget: Budget = field(default_factory=Budget, compare=False, repr=False)

    def texts(self) -> dict[str, str]:
        """Everything that can be read, by its place on the medium."""
        found = {file.path: file.data.decode("utf-8", "replace") for file in self.files}
        found |= _inner_texts(self.files, self.budget)
        tree = self.tree or {}
        for user in list_entries(tree, "passwd", "users"):
            found[f"passwd.users[{text_of(user, 'name')}]"] = text_of(user, "passwordHash")
        for unit in list_entries(tree, "systemd", "units"):
            found[f"systemd.units[{text_of(unit, 'name')}]"] = text_of(unit, "contents")
        if self.live is not None:
            network = self.live.network.items()
            found |= {f"initrd:{name}": data.decode("utf-8", "replace") for name, data in network}
            found |= {
                f"initrd:{each.path}": each.data.decode("utf-8", "replace") for each in self.live.initrd
            }
            found["kernel arguments"] = self.live.kargs or ""
        return found


def read_medium(path: Path) -> Reading:
    """Read a medium that Muster, or a tool with the same formats, made."""
    with Volume.open(path) as volume:
        if volume.label == CONFIG_LABEL:
            return _read_config(volume)
        if volume.label == CLUSTER_CONFIG_LABEL:
            files = tuple(
                Embedded(each.path, 0o644, volume.load(each, limit=_MOST)) for each in volume.walk()
            )
            return Reading(Kind.CLUSTER_CONFIG, volume.label, volume.file_size, files)
        contents = read_contents(volume)
        budget = Budget()
        tree = load_ignition(contents.ignition, str(path), budget) if contents.ignition is not None else None
        files = tuple(_embedded(tree)) if tree else ()
        about = (volume.label, volume.file_size, files, contents, tree)
        return Reading(Kind.LIVE, *about, made_for=_made_for(files), budget=budget)


def _read_config(volume: Volume) -> Reading:
    packed = volume.find("config.gz")
    if packed is None:
        raise MediaError(f"{volume.name} has no config.gz", hint="make the configuration ISO again")
    what = f"config.gz of {volume.name}"
    try:
        archive, _ = decompress(volume.load(packed, limit=_MOST), limit=_MOST, what=what)
        members = parse_archives(archive, what, limit=_MOST)
    except MediaError as error:
        raise MediaError(error.message, hint="make the configuration ISO again") from error
    files = tuple(
        Embedded(f"/{each.path}", each.mode & 0o7777, each.data)
        for each in members
        if each.mode >> 12 == 0o10
    )
    return Reading(Kind.SITE_CONFIG, volume.label, volume.file_size, files, made_for=_made_for(files))


def parse_ignition(data: bytes, name: str) -> dict[str, Any]:
    """The Ignition config of a medium as a tree."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MediaError(
            f"the Ignition config of {name} is not JSON", hint="make the medium again"
        ) from error
    if not isinstance(tree, dict):
        raise MediaError(f"the Ignition config of {name} is not an object", hint="make the medium again")
    return tree


def load_ignition(data: bytes, name: str, budget: Budget, depth: int = 0) -> dict[str, Any]:
    """The config with those that it carries to be merged into it, as coreos-installer makes them."""
    tree = parse_ignition(data, name)
    config = tree["ignition"].get("config") if isinstance(tree.get("ignition"), dict) else None
    inner = config.get("merge") if isinstance(config, dict) else None
    replaced = config.get("replace") if isinstance(config, dict) else None
    carried = [*(inner if isinstance(inner, list) else ()), replaced]
    for entry in carried:
        source = entry.get("source") if isinstance(entry, dict) else None
        if isinstance(source, str) and source.startswith("data:") and budget.take_config(depth + 1):
            inner = decode_data_url(source, packed=entry.get("compression") == "gzip")
            if budget.take(len(inner)):
                _join(tree, load_ignition(inner, name, budget, depth + 1))
    return tree


def _join(tree: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Add the files, users and units of a config to those of another."""
    for section, name in (("storage", "files"), ("passwd", "users"), ("systemd", "units")):
        more = list_entries(other, section, name)
        if more:
            part = tree.get(section)
            tree[section] = {**(part if isinstance(part, dict) else {})}
            tree[section][name] = [*list_entries({section: part}, section, name), *more]


def text_of(entry: Mapping[str, Any], name: str) -> str:
    """A value that the spec has as a text; what is anything else is empty."""
    found = entry.get(name)
    return found if isinstance(found, str) else ""


def _embedded(tree: Mapping[str, Any]) -> Iterator[Embedded]:
    total = 0
    for file in list_entries(tree, "storage", "files"):
        contents = file.get("contents")
        source = contents.get("source") if isinstance(contents, dict) else None
        packed = contents.get("compression") == "gzip" if isinstance(contents, dict) else False
        mode = file.get("mode")
        data = decode_data_url(source, packed=packed) if isinstance(source, str) else b""
        total += len(data)
        if total > _MOST_OF_ALL:
            raise _too_large()
        yield Embedded(text_of(file, "path"), mode if isinstance(mode, int) else 0o644, data)


def _too_large() -> MediaError:
    return MediaError(
        f"the files of the Ignition config unpack to more than {_MOST_OF_ALL} bytes",
        hint="make the medium again",
    )


def _inner_texts(files: Iterable[Embedded], budget: Budget) -> dict[str, str]:
    """What is in Ignition configs that are files themselves, for systems that are written from the medium."""
    found: dict[str, str] = {}
    waiting = [("", file, 1) for file in files]
    while waiting:
        before, file, depth = waiting.pop()
        if not file.path.endswith(_CONFIG) or not budget.take_config(depth):
            continue
        if depth == 1 and not budget.take(len(file.data)):
            break
        place = f"{before}{file.path}: "
        try:
            tree = load_ignition(file.data, file.path, budget)
        except MediaError:
            continue  # Only its name is that of a config.
        for user in list_entries(tree, "passwd", "users"):
            found[f"{place}passwd.users[{text_of(user, 'name')}]"] = text_of(user, "passwordHash")
        for each in _embedded(tree):
            if not budget.take(len(each.data)):
                break
            found[f"{place}{each.path}"] = each.data.decode("utf-8", "replace")
            waiting.append((place, each, depth + 1))
    return found


def decode_data_url(source: str, *, packed: bool = False) -> bytes:
    """The content of a data URL; that of another URL is not on the medium."""
    head, comma, body = source.partition(",")
    if not head.startswith("data:") or not comma:
        return source.encode("utf-8", "replace")
    try:
        data = b64decode(body) if head.endswith(";base64") else unquote_to_bytes(body)
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _MOST) if packed else data
    except (Base64Error, ValueError, zlib.error):
        return source.encode("utf-8", "replace")


def _made_for(files: tuple[Embedded, ...]) -> Mapping[str, Any]:
    data = next((file.data for file in files if file.path == LABEL_FILE), b"{}")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return {key: _shallow(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _shallow(value: Any) -> str | list[str]:
    """A text or a list of texts, which is all that Muster writes; anything else is left out."""
    if isinstance(value, list):
        return [entry for entry in value if isinstance(entry, str)]
    return value if isinstance(value, str) else ""
