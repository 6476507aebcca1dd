# SPDX-License-Identifier: Apache-2.0
"""Subjects with anything in their fields, made from the types of the fields."""

from __future__ import annotations

import types
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st

T = TypeVar("T", bound=msgspec.Struct)

_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: _TEXT,
    bool: st.booleans(),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    datetime: st.datetimes(timezones=st.just(UTC)),
    type(None): st.none(),
    Any: st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXT,
}


def anything(of: Any) -> st.SearchStrategy[Any]:
    """Values of a type."""
    if of in _PLAIN:
        return _PLAIN[of]
    origin, inner = get_origin(of), get_args(of)
    if origin is Annotated:
        return _within(*inner)
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in (Union, types.UnionType):
        return st.one_of([anything(each) for each in inner])
    if origin is tuple:
        return st.lists(anything(inner[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(anything(inner[0]), anything(inner[1]), max_size=2)
    if isinstance(of, type) and issubclass(of, msgspec.Struct):
        return structs(of)
    return st.from_type(of)


def _within(of: Any, *limits: Any) -> st.SearchStrategy[Any]:
    found = {
        name: value
        for each in limits
        if isinstance(each, msgspec.Meta)
        for name in ("ge", "le", "min_length", "max_length")
        if (value := getattr(each, name)) is not None
    }
    if of is int:
        return st.integers(int(found.get("ge", 0)), int(found.get("le", 2**63 - 1)))
    if of is str:
        return st.text(
            "abc", min_size=int(found.get("min_length", 0)), max_size=int(found.get("max_length", 5))
        )
    return anything(of)


def structs(of: type[T], **given: Any) -> st.SearchStrategy[T]:
    """Structs of a kind; some fields are given, and those that need not be set often are not."""
    fields = msgspec.structs.fields(of)
    needed = {each.name: anything(each.type) for each in fields if each.required and each.name not in given}
    others = {
        each.name: anything(each.type) for each in fields if not each.required and each.name not in given
    }
    return st.fixed_dictionaries(needed, optional=others).map(lambda values: of(**{**values, **given}))


def changes(of: type[msgspec.Struct], *fixed: str) -> st.SearchStrategy[dict[str, Any]]:
    """New values for some fields."""
    fields = {each.name: anything(each.type) for each in msgspec.structs.fields(of) if each.name not in fixed}
    names = st.sets(st.sampled_from(sorted(fields)), max_size=4)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: fields[name] for name in chosen}))
