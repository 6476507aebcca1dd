# SPDX-License-Identifier: Apache-2.0
"""What ELF files need is read from their own words."""

from __future__ import annotations

import pytest

from muster.machine_os.elf import DamagedElf, Linked, parse_elf
from tests.unit.machine_os.elves import render_elf

WHOLE = Linked(("libperl.so.5.40", "libc.so.6"), ("$ORIGIN/../lib", "/opt"), "/lib64/ld.so", "libagent.so.40")


@pytest.mark.parametrize(
    "linked", [WHOLE, Linked(), Linked(needed=("libc.so.6",)), Linked(interpreter="/ld")]
)
def test_all_that_is_linked_is_found(linked: Linked) -> None:
    assert parse_elf(render_elf(linked)) == linked


@pytest.mark.parametrize("data", [b"", b"\x7fEL", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(60)])
def test_other_files_are_none(data: bytes) -> None:
    assert parse_elf(data) is None


@pytest.mark.parametrize("length", [8, 63, 70, 120, 200, 260])
def test_a_file_that_ends_too_early_is_damaged(length: int) -> None:
    with pytest.raises(DamagedElf):
        parse_elf(render_elf(WHOLE)[:length])


def test_strings_that_are_nowhere_are_damage() -> None:
    data = bytearray(render_elf(WHOLE))
    data[64:68] = bytes(4)  # No segment is loaded any more.
    with pytest.raises(DamagedElf, match="nowhere"):
        parse_elf(bytes(data))
