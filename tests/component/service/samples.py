# SPDX-License-Identifier: Apache-2.0
"""Objects with every field set, and with none that can be left out, made from their types."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect as types

T = TypeVar("T", bound=msgspec.Struct)
NOW: Final = datetime(2026, 3, 1, 12, 30, 15, 250000, UTC)


def full(kind: type[T], like: type[msgspec.Struct] | None = None, /, **values: Any) -> T:
    """An object with every field set; words are taken from the fields of the same name of another type."""
    names = _types(like) if like is not None else {}
    given: dict[str, Any] = {
        each.name: sample(_choose(types.type_info(each.type), names.get(each.name)), each.name)
        for each in msgspec.structs.fields(kind)
        if each.name not in values
    }
    return kind(**given, **values)


def minimal(kind: type[T], /, **values: Any) -> T:
    """An object with only what it cannot be without."""
    given = {
        each.name: sample(types.type_info(each.type), each.name)
        for each in msgspec.structs.fields(kind)
        if each.required and each.name not in values
    }
    return kind(**given, **values)


def _types(kind: type[msgspec.Struct]) -> dict[str, types.Type]:
    return {each.name: types.type_info(each.type) for each in msgspec.structs.fields(kind)}


def _choose(ours: types.Type, theirs: types.Type | None) -> types.Type:
    """State has plain text where clients know only some words."""
    words = None if theirs is None else _plain(theirs)
    return words if isinstance(words, types.LiteralType) else ours


def _plain(kind: types.Type) -> types.Type:
    while isinstance(kind, types.Metadata):
        kind = kind.type
    if isinstance(kind, types.UnionType):
        return _plain(next(each for each in kind.types if not isinstance(each, types.NoneType)))
    return kind


def sample(kind: types.Type, name: str) -> Any:
    """A value of a type."""
    kind = _plain(kind)
    match kind:
        case types.StrType():
            return f"the {name}"
        case types.IntType(ge=least):
            return max(7, least or 0)
        case types.BoolType():
            return True
        case types.FloatType():
            return 1.5
        case types.DateTimeType():
            return NOW
        case types.LiteralType(words):
            return max(words, key=str)
        case types.VarTupleType(item_type=item):
            return (sample(item, name),)
        case types.DictType(value_type=value):
            return {"key": sample(value, name)}
        case types.StructType(cls):
            return full(cls)
        case _:
            return f"the {name}"
