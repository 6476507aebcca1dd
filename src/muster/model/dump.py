# SPDX-License-Identifier: Apache-2.0
"""Model → plain data under the keys of the file: what was written, without places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muster.model.schema import Model, fields_of
from muster.model.tree import Node, Plain, to_plain
from muster.model.values import Secret


def dump(model: Model, *, effective: bool = False) -> dict[str, Plain]:
    """The fields of a model that are set, by their keys. Secrets are revealed: mind where it goes.

    With ``effective``, fields that have no effect are left out.
    """
    found: dict[str, Plain] = {}
    for key, entry in fields_of(type(model)).items():
        value = getattr(model, entry.name)
        if value is None or value in ((), {}) or (effective and entry.ignored):
            continue
        found[key] = _dump(value, effective=effective)
    return found


def _dump(value: Any, *, effective: bool) -> Plain:
    match value:
        case Model():
            return dump(value, effective=effective)
        case Node():
            return to_plain(value)
        case Secret():
            return value.reveal()
        case bool() | int():
            return value
        case tuple():
            return [_dump(item, effective=effective) for item in value]
        case Mapping():
            return {str(key): _dump(item, effective=effective) for key, item in value.items()}
        case _:
            return str(value)
