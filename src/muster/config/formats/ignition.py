# SPDX-License-Identifier: Apache-2.0
"""The Ignition spec 3.2 as data: what users add to configs that Muster makes is judged and merged by it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from muster.config.spelling import closest
from muster.frozen import dataclass
from muster.model.ignition import read_resource
from muster.model.settings_support import IGNITION_OVERRIDE, Setting, Support, asked_settings

_VERSION: Final = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})\Z")
_NEWEST: Final = (3, 2)
_MOST_CARRIED: Final = 20
"""Configs that a config carries in itself, and the bytes of each: what has more is not looked into."""
_MOST_CARRIED_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class Many:
    """A list. Entries that have the same key are about the same thing; without a key they are only values."""

    of: Spec
    key: str = ""


Spec = type[str] | type[int] | type[bool] | Many | Mapping[str, Any]
"""What may stand somewhere: a scalar, a list, or an object with its fields."""

_RESOURCE: Final = {
    "source": str,
    "compression": str,
    "httpHeaders": Many({"name": str, "value": str}, "name"),
    "verification": {"hash": str},
}
_OWNER: Final = {"id": int, "name": str}
_NODE: Final = {"path": str, "overwrite": bool, "user": _OWNER, "group": _OWNER}
_PARTITION: Final = {
    "label": str, "number": int, "sizeMiB": int, "startMiB": int, "typeGuid": str, "guid": str,
    "wipePartitionEntry": bool, "shouldExist": bool, "resize": bool,
}  # fmt: skip
_LUKS: Final = {
    "name": str, "device": str, "keyFile": _RESOURCE, "label": str, "uuid": str, "options": Many(str),
    "wipeVolume": bool,
    "clevis": {
        "tang": Many({"url": str, "thumbprint": str}, "url"), "tpm2": bool, "threshold": int,
        "custom": {"pin": str, "config": str, "needsNetwork": bool},
    },
}  # fmt: skip
_USER: Final = {
    "name": str, "passwordHash": str, "sshAuthorizedKeys": Many(str), "uid": int, "gecos": str,
    "homeDir": str, "noCreateHome": bool, "primaryGroup": str, "groups": Many(str),
    "noUserGroup": bool, "noLogInit": bool, "shell": str, "system": bool, "shouldExist": bool,
}  # fmt: skip
_UNIT: Final = {
    "name": str, "enabled": bool, "mask": bool, "contents": str,
    "dropins": Many({"name": str, "contents": str}, "name"),
}  # fmt: skip
SPEC: Final[Mapping[str, Any]] = {
    "ignition": {
        "version": str,
        "config": {"merge": Many(_RESOURCE, "source"), "replace": _RESOURCE},
        "timeouts": {"httpResponseHeaders": int, "httpTotal": int},
        "security": {"tls": {"certificateAuthorities": Many(_RESOURCE, "source")}},
        "proxy": {"httpProxy": str, "httpsProxy": str, "noProxy": Many(str)},
    },
    "storage": {
        "disks": Many(
            {"device": str, "wipeTable": bool, "partitions": Many(_PARTITION, "number")}, "device"
        ),
        "raid": Many(
            {"name": str, "level": str, "devices": Many(str), "spares": int, "options": Many(str)}, "name"
        ),
        "filesystems": Many(
            {
                "device": str, "format": str, "path": str, "wipeFilesystem": bool, "label": str, "uuid": str,
                "options": Many(str), "mountOptions": Many(str),
            },
            "device",
        ),
        "files": Many({**_NODE, "contents": _RESOURCE, "append": Many(_RESOURCE), "mode": int}, "path"),
        "directories": Many({**_NODE, "mode": int}, "path"),
        "links": Many({**_NODE, "target": str, "hard": bool}, "path"),
        "luks": Many(_LUKS, "name"),
    },
    "systemd": {"units": Many(_UNIT, "name")},
    "passwd": {
        "users": Many(_USER, "name"),
        "groups": Many(
            {"name": str, "gid": int, "passwordHash": str, "system": bool, "shouldExist": bool}, "name"
        ),
    },
}  # fmt: skip
_NAMES: Final = {str: "a text", int: "a number", bool: "true or false"}


def ignition_fault(text: str) -> str:
    """Why a text is no Ignition config of a version up to 3.2, or nothing when it is one."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        return f"it is not JSON: {error.msg.lower()} (line {error.lineno}, column {error.colno} of the value)"
    except (ValueError, RecursionError):
        return "it is not JSON"
    return _version_fault(data) or next(_faults(SPEC, data, ""), "")


def refused_parts(text: str, kind: str) -> list[Setting]:
    """What a config asks for that hosts of a kind of release do not do, with the configs that it carries."""
    waiting, found = [text], dict[str, Setting]()
    for _ in range(_MOST_CARRIED):
        if not waiting:
            break
        try:
            tree = json.loads(waiting.pop())
            asked = [*asked_settings(IGNITION_OVERRIDE, kind, Support.REFUSED, tree)]
        except (ValueError, RecursionError):
            continue  # `ignition_fault` says it.
        found.update((row.path, row) for row in asked)
        waiting += _carried(tree)
    return [*found.values()]


def _carried(tree: Any) -> Iterator[str]:
    """The configs in `ignition.config` that are data, and not the address of some."""
    head = tree.get("ignition") if isinstance(tree, dict) else None
    config = head.get("config") if isinstance(head, dict) else None
    if not isinstance(config, dict):
        return
    merged = config.get("merge")
    for resource in (*(merged if isinstance(merged, list) else ()), config.get("replace")):
        data = read_resource(resource, _MOST_CARRIED_BYTES) if isinstance(resource, dict) else None
        if data is not None:
            yield data.decode("utf-8", "replace")


def _version_fault(data: object) -> str:
    head = data.get("ignition") if isinstance(data, dict) else None
    version = head.get("version") if isinstance(head, dict) else None
    if version is None:
        return 'it does not say its version, like {"ignition": {"version": "3.2.0"}}'
    match = _VERSION.match(version) if isinstance(version, str) else None
    if match is None:
        return "its version is not a text of three numbers, like 3.2.0"
    if not (_NEWEST[0], 0) <= (int(match[1]), int(match[2])) <= _NEWEST:
        return f"its version is {version}; overrides may have 3.0.0 to 3.2.0"
    return ""


def _faults(spec: Spec, data: object, where: str) -> Iterator[str]:
    """What does not follow the spec, as texts that name the place."""
    if data is None:
        return
    if isinstance(spec, Many):
        yield from _list_faults(spec, data, where)
    elif isinstance(spec, Mapping):
        yield from _object_faults(spec, data, where)
    elif not isinstance(data, spec) or (spec is int and isinstance(data, bool)):
        yield f"{where} is not {_NAMES[spec]}"


def _object_faults(spec: Mapping[str, Any], data: object, where: str) -> Iterator[str]:
    if not isinstance(data, dict):
        yield f"{where or 'it'} is not an object"
        return
    for name, value in data.items():
        place = f"{where}.{name}" if where else name
        if name not in spec:
            near = closest(name, list(spec))
            yield f"{place} is not a field of Ignition 3.2" + (f"; did you mean {near}?" if near else "")
        else:
            yield from _faults(spec[name], value, place)


def _list_faults(spec: Many, data: object, where: str) -> Iterator[str]:
    if not isinstance(data, list):
        yield f"{where} is not a list"
        return
    seen = set()
    for index, entry in enumerate(data):
        yield from _faults(spec.of, entry, f"{where}[{index}]")
        key = entry.get(spec.key) if spec.key and isinstance(entry, dict) else None
        if not key or not isinstance(key, str | int):
            continue
        if key in seen:
            yield f"{where} has two entries with {spec.key} {key}"
        seen.add(key)
