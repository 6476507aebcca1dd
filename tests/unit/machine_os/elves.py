# SPDX-License-Identifier: Apache-2.0
"""The smallest files that a dynamic loader would take for programs and libraries."""

from __future__ import annotations

import struct
from pathlib import Path

from muster.machine_os.elf import Linked

LOADER = "/lib64/ld.so"
_AT = 0x400000
_HEAD, _SEGMENT, _ENTRY = 64, 56, 16
_NEEDED, _STRINGS, _NAME, _RUNPATH = 1, 5, 14, 29


def render_elf(linked: Linked) -> bytes:
    """A file of 64 bits that is linked like this."""
    strings, values = b"\0", []
    places = [":".join(linked.places)] if linked.places else []
    names = [linked.name] if linked.name else []
    for tag, texts in ((_NEEDED, linked.needed), (_NAME, names), (_RUNPATH, places)):
        for text in texts:
            values.append((tag, len(strings)))
            strings += text.encode() + b"\0"
    interpreter = linked.interpreter.encode() + b"\0"
    dynamic_at = _HEAD + 3 * _SEGMENT
    strings_at = dynamic_at + (len(values) + 2) * _ENTRY
    interpreter_at = strings_at + len(strings)
    entries = [*values, (_STRINGS, _AT + strings_at), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", tag, value) for tag, value in entries)
    size = interpreter_at + len(interpreter)
    segments = _segment(1, 0, size) + _segment(2, dynamic_at, len(dynamic))
    segments += _segment(3 if linked.interpreter else 0, interpreter_at, len(interpreter))
    return _head() + segments + dynamic + strings + interpreter


def _head() -> bytes:
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    return ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, _HEAD, 0, 0, _HEAD, _SEGMENT, 3, 0, 0, 0)


def _segment(kind: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, 0, offset, _AT + offset, 0, size, size, 0)


def put_program(path: Path, *needed: str, places: tuple[str, ...] = ()) -> None:
    _put(path, Linked(needed, places, LOADER))


def put_library(path: Path, *needed: str, name: str = "") -> None:
    _put(path, Linked(needed, name=name or path.name))


def _put(path: Path, linked: Linked) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(render_elf(linked))
