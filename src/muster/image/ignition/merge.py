# SPDX-License-Identifier: Apache-2.0
"""Merging what a user adds to an Ignition config, with the semantics of Ignition's own merge.

Entries of a list are the same thing when they have the same key (a file its path, a unit its name); what the
user says of it wins, field by field. Values without a key are joined. Nothing is replaced silently: the
places are returned.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from muster.config.formats.ignition import SPEC, Many, Spec, ignition_fault, refused_parts
from muster.errors import UserError
from muster.model.ignition import VERSION

_AT_A_PATH: Final = ("files", "directories", "links")


def parse_override(text: str, origin: str, kind: str = "") -> dict[str, Any]:
    """A config that a user gave, checked against the spec and what hosts of a kind of release do."""
    fault = ignition_fault(text)
    if fault:
        raise UserError(
            f"the Ignition config of {origin} cannot be used: {fault}",
            hint="correct it; `ignition-validate` of the package ignition judges it, too",
        )
    check_parts(text, origin, kind)
    tree: dict[str, Any] = json.loads(text)
    tree["ignition"]["version"] = VERSION
    return tree


def check_parts(text: str, origin: str, kind: str) -> None:
    """A UserError when a config asks for what hosts of a kind of release do not do, such as LUKS."""
    for row in refused_parts(text, kind):
        raise UserError(
            f"the Ignition config of {origin} asks for {row.path}, which is not done by a release of"
            f" Kubernetes: {row.reason}",
            hint=row.fix,
        )


def merge(config: Mapping[str, Any], override: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The config with the override in it, and the places where the override replaced something."""
    replaced: list[str] = []
    merged = _merge(SPEC, _without_moved(config, override, replaced), override, ("",), replaced)
    return merged, tuple(replaced)


def merge_given(
    tree: dict[str, Any], infra_env: object, given: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The config with what users add, and the places where that replaced something of ours.

    InfraEnv's ignitionConfigOverride comes first, then the config that the command was given.
    """
    replaced: tuple[str, ...] = ()
    named = ((infra_env, "InfraEnv's ignitionConfigOverride"), (given, "--ignition-override"))
    for text, origin in named:
        if isinstance(text, str) and text:
            tree, more = merge(tree, parse_override(text, origin))
            replaced += more
    return tree, replaced


def _without_moved(
    config: Mapping[str, Any], override: Mapping[str, Any], replaced: list[str]
) -> dict[str, Any]:
    """The config without what has a path that the override gives to another kind of thing."""
    storage = dict(config.get("storage") or {})
    for kind in _AT_A_PATH:
        others = {
            entry.get("path")
            for other in _AT_A_PATH
            if other != kind
            for entry in (override.get("storage") or {}).get(other) or ()
        }
        gone = [entry["path"] for entry in storage.get(kind) or () if entry.get("path") in others]
        if gone:
            storage[kind] = [entry for entry in storage[kind] if entry.get("path") not in others]
            replaced.extend(f"storage.{kind}[{path}]" for path in gone)
    return {**config, "storage": storage} if storage else dict(config)


def _merge(spec: Spec, old: Any, new: Any, where: tuple[str, ...], replaced: list[str]) -> Any:
    if new is None:
        return old
    if old is None:
        return new
    if isinstance(spec, Many):
        return _merge_lists(spec, old, new, where, replaced)
    if isinstance(spec, Mapping):
        merged = dict(old)
        for name, value in new.items():
            merged[name] = _merge(spec[name], old.get(name), value, (*where, f".{name}"), replaced)
        return merged
    if old != new:
        replaced.append("".join(where).lstrip("."))
    return new


def _merge_lists(
    spec: Many, old: list[Any], new: list[Any], where: tuple[str, ...], replaced: list[str]
) -> list[Any]:
    if not spec.key:
        return [*old, *(value for value in new if value not in old)]
    merged = {_key(spec, entry, index): entry for index, entry in enumerate(old)}
    for index, entry in enumerate(new):
        key = _key(spec, entry, len(old) + index)
        place = (*where, f"[{key}]")
        merged[key] = _merge(spec.of, merged.get(key), entry, place, replaced)
    return list(merged.values())


def _key(spec: Many, entry: Mapping[str, Any], index: int) -> object:
    return entry.get(spec.key) or ("unnamed", index)


def list_entries(tree: Mapping[str, Any], section: str, name: str) -> list[dict[str, Any]]:
    """The entries of a list that is where the spec has it; anything else is none."""
    part = tree.get(section)
    found = part.get(name) if isinstance(part, dict) else None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
