# SPDX-License-Identifier: Apache-2.0
"""What requests say beside their body: every parameter of the table is checked before anybody answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias, get_origin

import msgspec

from muster.service.api.table.shape import Parameter, Shape
from muster.service.refusals import BadRequest

_TRUE: Final = ("true", "1", "yes", "t", "y", "on")
_FALSE: Final = ("false", "0", "no", "f", "n", "off")
Check: TypeAlias = Callable[[Mapping[str, str], Mapping[str, str]], None]
"""Looks at a query and at headers; BadRequest when they are not as they should be."""


def read_flag(text: str) -> bool | None:
    """Yes or no, as clients write it; None when it is neither."""
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def make_check(shape: Shape) -> Check | None:
    """What is asked of the parameters of an operation; nothing when it has none."""
    wanted = tuple(
        (each, each.name.lower(), _reader_of(each.type))
        for each in shape.parameters
        if each.required or each.type is not str  # Any text will do.
    )
    if not wanted:
        return None

    def check(query: Mapping[str, str], headers: Mapping[str, str]) -> None:
        for parameter, lower, read in wanted:
            text = query.get(parameter.name) if parameter.place == "query" else headers.get(lower)
            if text or (text is not None and _has_words(parameter.type)):
                _check_one(parameter, text, read)
            elif parameter.required:
                raise BadRequest(f"{parameter.name} is missing", hint="see /openapi.json")

    return check


def _has_words(kind: Any) -> bool:
    """Whether only some words will do, of which nothing is none."""
    return get_origin(kind) is Literal


def _check_one(parameter: Parameter, text: str, read: Callable[[str], Any]) -> None:
    try:
        read(text)
    except (msgspec.ValidationError, ValueError) as error:
        why = f"{parameter.name}: {text[:100]!r} is not as it should be: {error}"
        raise BadRequest(why, hint="see /openapi.json") from None


def _reader_of(kind: Any) -> Callable[[str], Any]:
    if kind is str:
        return str
    if kind is bool:
        return _flag
    if get_origin(kind) is tuple:
        return lambda text: msgspec.convert([part for part in text.split(",") if part], kind, strict=False)
    return lambda text: msgspec.convert(text, kind, strict=False)


def _flag(text: str) -> bool:
    found = read_flag(text)
    if found is None:
        raise ValueError("neither true nor false")
    return found
