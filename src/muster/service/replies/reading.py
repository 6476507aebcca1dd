# SPDX-License-Identifier: Apache-2.0
"""Reading what agents answer: strictly first, and where that fails, all of it that makes sense.

A word that nobody knows, or a list that is null, costs itself and not the whole answer.
"""

from __future__ import annotations

import types
from collections.abc import Hashable
from functools import cache
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin

import msgspec

from muster.service.edge.scan import has_text_over
from muster.service.refusals import BadRequest

T = TypeVar("T")
_LARGEST: Final = 1 << 63
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_MANY_DIGITS: Final = b"0" * 19
MOST_SALVAGED: Final = 5000
MOST_ITEMS: Final = 100_000
"""Lists, objects and members of a text in JSON."""


@cache
def _decoder(of: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(of)


def check_numbers(value: Any, text: str | bytes) -> None:
    """BadRequest for a number of more than 64 bits: it can be decoded, but not calculated with."""
    # Few texts have so many digits in a row, so few values are looked through.
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if _MANY_DIGITS in data.translate(_DIGITS) and _has_large(msgspec.to_builtins(value)):
        raise BadRequest("a number is out of range", hint="send numbers of at most 64 bits")


def _has_large(value: Any) -> bool:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list | tuple):
            waiting += each
        elif isinstance(each, int) and not -_LARGEST <= each < _LARGEST:
            return True
    return False


def check_items(name: str, text: str, most: int = MOST_ITEMS) -> None:
    """BadRequest for JSON of too many items: each costs many times its bytes when it is decoded.

    The limit of bodies does not see them: they are inside of one text there, and may be escaped.
    """
    if len(text) > most and text.count(",") + text.count("{") + text.count("[") > most:
        raise BadRequest(f"{name} has more than {most} items", hint="send less")


def read_output(step_type: str, output: str, of: type[T]) -> T:
    """An output as what it has to be."""
    try:
        found: T = _decoder(cast("Hashable", of)).decode(output)
    except msgspec.ValidationError as error:
        return _salvage(step_type, output, of, str(error))
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise _bad(step_type, f"is no JSON: {error}") from None
    except RecursionError:
        raise _bad(step_type, "is nested too deeply") from None
    check_numbers(found, output)
    return found


def check_kept(step_type: str, kept: Any, *, most_bytes: int = 64 << 10, most_text: int = 4096) -> None:
    """BadRequest for more than a host needs to say: what it says is stored, and shown to people."""
    body = msgspec.json.encode(kept)
    if len(body) > most_bytes:
        raise _bad(step_type, f"takes more than {most_bytes >> 10} KiB")
    if has_text_over(body, most_text):
        raise _bad(step_type, f"has a text of more than {most_text} bytes")


def _salvage(step_type: str, output: str, of: type[T], fault: str) -> T:
    try:
        value = msgspec.json.decode(output)
        found: T | None = salvage(value, of, Effort())
    except msgspec.DecodeError as error:
        raise _bad(step_type, f"is no JSON: {error}") from None
    except RecursionError:
        raise _bad(step_type, "is nested too deeply") from None
    if found is None:
        raise _bad(step_type, f"makes no sense: {fault}")
    check_numbers(found, output)
    return found


def _bad(step_type: str, fault: str) -> BadRequest:
    return BadRequest(f"output of step {step_type} {fault}", hint="send what the step asks for, as JSON")


class Effort:
    """How many values are looked at one by one: a host that sends thousands of wrong ones is refused."""

    def __init__(self, most: int = MOST_SALVAGED) -> None:
        self._left = most

    def spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise BadRequest("too much of what was sent makes no sense", hint="send what the step asks for")


def salvage(value: Any, of: Any, effort: Effort) -> Any:
    """What of a value fits a type; None when nothing does."""
    effort.spend()
    try:
        return msgspec.convert(value, of, strict=False)
    except msgspec.ValidationError:
        pass
    origin = get_origin(of)
    if origin in (Union, types.UnionType):
        parts = (salvage(value, each, effort) for each in get_args(of) if each is not type(None))
        return next((part for part in parts if part is not None), None)
    if origin is tuple:
        return _salvage_items(value, get_args(of)[0], effort)
    if isinstance(of, type) and issubclass(of, msgspec.Struct) and isinstance(value, dict):
        return _salvage_fields(value, of, effort)
    return None


def _salvage_items(value: Any, of: Any, effort: Effort) -> Any:
    if value is None:
        return ()
    if not isinstance(value, list):
        return None
    return tuple(found for each in value if (found := salvage(each, of, effort)) is not None)


def _salvage_fields(value: dict[str, Any], of: type[msgspec.Struct], effort: Effort) -> Any:
    found = {}
    for field in _fields(of):
        known = field.encode_name in value
        part = salvage(value[field.encode_name], field.type, effort) if known else None
        if part is not None:
            found[field.name] = part
        elif field.required:
            return None
    return of(**found)


@cache
def _fields(of: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(of)
