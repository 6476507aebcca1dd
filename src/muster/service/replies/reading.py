# SPDX-License-Identifier: Apache-2.0
"""Reading what agents answer: strictly first, and where that fails, all of it that makes sense.

A word that nobody knows, or a list that is null, costs itself and not the whole answer.
"""

from __future__ import annotations

import types
from collections.abc import Hashable
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin

import msgspec

from muster.service.refusals import BadRequest

T = TypeVar("T")


@cache
def _decoder(of: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(of)


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
    return found


def _salvage(step_type: str, output: str, of: type[T], fault: str) -> T:
    try:
        value = msgspec.json.decode(output)
        found: T | None = salvage(value, of)
    except msgspec.DecodeError as error:
        raise _bad(step_type, f"is no JSON: {error}") from None
    except RecursionError:
        raise _bad(step_type, "is nested too deeply") from None
    if found is None:
        raise _bad(step_type, f"makes no sense: {fault}")
    return found


def _bad(step_type: str, fault: str) -> BadRequest:
    return BadRequest(f"output of step {step_type} {fault}", hint="send what the step asks for, as JSON")


def salvage(value: Any, of: Any) -> Any:
    """What of a value fits a type; None when nothing does."""
    try:
        return msgspec.convert(value, of, strict=False)
    except msgspec.ValidationError:
        pass
    origin = get_origin(of)
    if origin in (Union, types.UnionType):
        parts = (salvage(value, each) for each in get_args(of) if each is not type(None))
        return next((part for part in parts if part is not None), None)
    if origin is tuple:
        return _salvage_items(value, get_args(of)[0])
    if isinstance(of, type) and issubclass(of, msgspec.Struct) and isinstance(value, dict):
        return _salvage_fields(value, of)
    return None


def _salvage_items(value: Any, of: Any) -> Any:
    if value is None:
        return ()
    if not isinstance(value, list):
        return None
    return tuple(found for each in value if (found := salvage(each, of)) is not None)


def _salvage_fields(value: dict[str, Any], of: type[msgspec.Struct]) -> Any:
    found = {}
    for field in msgspec.structs.fields(of):
        part = salvage(value[field.encode_name], field.type) if field.encode_name in value else None
        if part is not None:
            found[field.name] = part
        elif field.required:
            return None
    return of(**found)
