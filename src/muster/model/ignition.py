# SPDX-License-Identifier: Apache-2.0
"""What Muster writes into an Ignition config: files, links, units and users, as frozen data."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from muster.frozen import dataclass

VERSION: Final = "3.2.0"
"""Of the spec that configs are written in: the oldest that says all that they need."""
SECRET: Final = 0o600
PUBLIC: Final = 0o644
PROGRAM: Final = 0o755
_MOST_BYTES: Final = 64 << 20
"""No file of a config unpacks to more."""


@dataclass(frozen=True)
class File:
    """A file of the live system, owned by root. What is not known to be public is secret."""

    path: str
    data: bytes
    mode: int = SECRET


@dataclass(frozen=True)
class Link:
    """A name that leads to another file."""

    path: str
    target: str


@dataclass(frozen=True)
class Unit:
    """A unit of systemd."""

    name: str
    contents: str
    enabled: bool = True


@dataclass(frozen=True)
class User:
    """Somebody who may log in."""

    name: str
    ssh_keys: tuple[str, ...] = ()
    password_hash: str = ""


@dataclass(frozen=True)
class Config:
    """A whole config, or the part of one that a concern adds."""

    files: tuple[File, ...] = ()
    units: tuple[Unit, ...] = ()
    users: tuple[User, ...] = ()
    links: tuple[Link, ...] = ()


def join(parts: Iterable[Config]) -> Config:
    """One config of several. Two parts that claim the same path, unit or user are a mistake of ours."""
    places: dict[str, File | Link] = {}
    units: dict[str, Unit] = {}
    users: dict[str, User] = {}
    for part in parts:
        here: tuple[File | Link, ...] = (*part.files, *part.links)
        _add(places, {place.path: place for place in here}, len(here))
        _add(units, {unit.name: unit for unit in part.units}, len(part.units))
        _add(users, {user.name: user for user in part.users}, len(part.users))
    in_order = [places[path] for path in sorted(places)]
    return Config(
        tuple(each for each in in_order if isinstance(each, File)),
        tuple(units[name] for name in sorted(units)),
        tuple(users[name] for name in sorted(users)),
        tuple(each for each in in_order if isinstance(each, Link)),
    )


def _add(found: dict[str, Any], more: Mapping[str, Any], count: int) -> None:
    twice = sorted(found.keys() & more.keys())
    if twice or len(more) != count:
        raise ValueError(f"two parts of the Ignition config claim {', '.join(twice) or sorted(more)}")
    found |= more


def tree_of(config: Config) -> dict[str, Any]:
    """The config as Ignition's JSON has it."""
    tree: dict[str, Any] = {"ignition": {"version": VERSION}}
    if config.users:
        tree["passwd"] = {"users": [_user(user) for user in config.users]}
    storage = {
        "files": [_file(file) for file in config.files],
        "links": [_link(link) for link in config.links],
    }
    if filled := {kind: entries for kind, entries in storage.items() if entries}:
        tree["storage"] = filled
    if config.units:
        tree["systemd"] = {"units": [_unit(unit) for unit in config.units]}
    return tree


def _file(file: File) -> dict[str, Any]:
    return {
        "path": file.path,
        "mode": file.mode,
        "overwrite": True,
        "user": {"name": "root"},
        "contents": {"source": data_url(file.data)},
    }


def _link(link: Link) -> dict[str, Any]:
    return {"path": link.path, "target": link.target, "overwrite": True, "user": {"name": "root"}}


def _unit(unit: Unit) -> dict[str, Any]:
    return {"name": unit.name, "enabled": unit.enabled, "contents": unit.contents}


def _user(user: User) -> dict[str, Any]:
    body: dict[str, Any] = {"name": user.name}
    if user.ssh_keys:
        body["sshAuthorizedKeys"] = list(user.ssh_keys)
    if user.password_hash:
        body["passwordHash"] = user.password_hash
    return body


def data_url(data: bytes) -> str:
    """Content that is carried in the config itself."""
    return f"data:;base64,{base64.b64encode(data).decode()}"


def find_file(tree: Mapping[str, Any], path: str) -> bytes | None:
    """What a file of a config holds, if the config itself carries that."""
    try:
        entry = next((each for each in tree["storage"]["files"] if each["path"] == path), None)
        return None if entry is None else read_resource(entry["contents"])
    except (LookupError, TypeError):
        return None


def read_resource(contents: Mapping[str, Any], most_bytes: int = _MOST_BYTES) -> bytes | None:
    """What a resource of a config holds, if the config itself carries that and it is not too large."""
    try:
        head, _, body = contents["source"].partition(",")
        if not head.startswith("data:"):
            return None
        data = base64.b64decode(body, validate=True) if head.endswith(";base64") else unquote_to_bytes(body)
        if contents.get("compression") != "gzip":
            return data
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        unpacked = unpacker.decompress(data, most_bytes)
    except (LookupError, TypeError, AttributeError, ValueError, zlib.error):
        return None
    return unpacked if unpacker.eof else None


def render_tree(tree: Mapping[str, Any]) -> bytes:
    """The config as bytes; the same for the same content."""
    return json.dumps(tree, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
