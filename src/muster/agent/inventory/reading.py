# SPDX-License-Identifier: Apache-2.0
"""Reading small files of the kernel, and the JSON of programs: what cannot be read is normal."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec

from muster.agent.inventory.found import CannotTell

T = TypeVar("T")
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A number that JSON can carry."""


def read_text(path: Path) -> str:
    """What is in a small file, without blanks around it; empty when it cannot be read."""
    try:
        return path.read_bytes().decode(errors="replace").strip("\0 \t\r\n")
    except (OSError, ValueError):  # The latter when what should be a name has a zero byte in it.
        return ""


def read_number(path: Path) -> int | None:
    """The number in a small file."""
    text = read_text(path)
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def read_links(path: Path) -> dict[str, str]:
    """The symbolic links in a folder: the last part of what each points to, by its name."""
    found = {}
    for each in list_names(path):
        with contextlib.suppress(OSError):  # It is no link, or has just gone.
            found[each] = (path / each).readlink().name
    return found


def list_names(path: Path) -> tuple[str, ...]:
    """What is in a folder, in order."""
    try:
        return tuple(sorted(each.name for each in path.iterdir()))
    except OSError:
        return ()


def parse_json(text: str, program: str) -> Any:
    """What a program said as JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise CannotTell(f"what {program} said is no JSON") from None


def parse_items(found: Any, kind: type[T], program: str) -> tuple[list[T], tuple[str, ...]]:
    """The items of a list of JSON that make sense, and a sentence about those that do not."""
    if not isinstance(found, list):
        raise CannotTell(f"what {program} said is no list")
    items = []
    wrong = []
    for each in found:
        if each == {}:  # Programs leave these behind for what they were asked to leave out.
            continue
        try:
            items.append(msgspec.convert(each, kind, strict=False))
        except (msgspec.ValidationError, RecursionError) as error:
            wrong.append(str(error))
    return items, (f"{program} told of {len(wrong)} things that make no sense: {wrong[0]}",) if wrong else ()


def first(texts: Iterable[str | None]) -> str:
    """The first that says something."""
    return next((each for each in texts if each), "")
