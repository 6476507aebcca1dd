# SPDX-License-Identifier: Apache-2.0
"""Kernel arguments as a live image keeps them: text, an end mark, and padding up to a fixed size."""

from __future__ import annotations

from collections.abc import Sequence

from muster.errors import MediaError, UserError
from muster.frozen import dataclass


@dataclass(frozen=True)
class Edit:
    """What to change; done in this order: delete, append, append if missing, replace (KEY=OLD=NEW)."""

    delete: Sequence[str] = ()
    append: Sequence[str] = ()
    append_if_missing: Sequence[str] = ()
    replace: Sequence[str] = ()


def decode_kargs(data: bytes, *, pad: str = "#", end: str = "\n", what: str = "kernel arguments") -> str:
    """The text of an area."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MediaError(f"{what} is not text", hint="get the image again") from error
    return text.rstrip(pad).rstrip(end).strip()


def encode_kargs(kargs: str, size: int, *, pad: str = "#", end: str = "\n") -> bytes:
    """The bytes of an area of a given size."""
    data = kargs.strip().encode("utf-8")
    if len(data) >= size:
        raise MediaError(
            f"the kernel arguments have {len(data)} bytes; the image has room for {size - 1}",
            hint="leave out some kernel arguments",
        )
    return (data + end.encode("ascii")).ljust(size, pad.encode("ascii"))


def edit_kargs(kargs: str, edit: Edit) -> str:
    """Kernel arguments with some added, taken away or replaced; words are compared as a whole."""
    text = f" {kargs} "
    for words in map(_clean, edit.delete):
        # Not str.replace: of two equal neighbours, which share a blank, it would leave one.
        while f" {words} " in text:
            text = text.replace(f" {words} ", " ")
    for words in map(_clean, edit.append):
        text += f"{words} "
    for words in map(_clean, edit.append_if_missing):
        text += "" if f" {words} " in text else f"{words} "
    for words in map(_clean, edit.replace):
        parts = words.split("=")
        if len(parts) != 3 or not all(parts):
            raise UserError(f"{words!r} does not say what to replace", hint="write it as KEY=OLD=NEW")
        key, old, new = parts
        text = text.replace(f" {key}={old} ", f" {key}={new} ")
    return text.strip()


def _clean(words: str) -> str:
    text = words.strip()
    if not text or not text.isprintable():
        raise UserError(
            f"{words!r} cannot be a kernel argument", hint="write it on one line, without control characters"
        )
    return text
