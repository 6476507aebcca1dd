# SPDX-License-Identifier: Apache-2.0
"""Packed files in whatever portions they arrive."""

from __future__ import annotations

import gzip
import lzma
import random
import sys
from collections.abc import Callable

import pytest

from muster.release.oci.trouble import Damaged
from muster.release.unpack import find_unpacker

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def pack_zstd(data: bytes) -> bytes:
    """With a checksum, which zstd leaves out unless told; a layer has its digest instead."""
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


PACKERS = [gzip.compress, lzma.compress, pack_zstd]
CONTENT = random.Random(3).randbytes(5000) + bytes(9 << 20) + random.Random(4).randbytes(5000)


def unpack(packed: bytes, portion: int) -> tuple[bytes, int]:
    """The content, and the size of the largest piece of it."""
    unpacker = find_unpacker(packed[:6], "x")
    assert unpacker is not None
    portions = (packed[start : start + portion] for start in range(0, len(packed), portion))
    pieces = [piece for part in portions for piece in unpacker.unpack(part)]
    unpacker.finish()
    return b"".join(pieces), max(map(len, pieces))


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize("portion", [7, 4096, 1 << 30])
def test_any_portion(pack: Callable[[bytes], bytes], portion: int) -> None:
    content, largest = unpack(pack(CONTENT), portion)
    assert content == CONTENT
    assert largest <= 4 << 20, "zeros pack well; they are not unpacked all at once"


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize("portion", [1, 5, 1 << 20])
def test_several_in_one_file(pack: Callable[[bytes], bytes], portion: int) -> None:
    packed = pack(b"one") + pack(b"two") + bytes(8) + pack(b"") + pack(b"three") + bytes(4)
    assert unpack(packed, portion)[0] == b"onetwothree"


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize("damage", ["cut", "changed", "garbage"])
def test_damage(pack: Callable[[bytes], bytes], damage: str) -> None:
    packed = bytearray(pack(CONTENT))
    if damage == "cut":
        del packed[-1]
    elif damage == "changed":
        packed[len(packed) // 2] ^= 0xFF
    else:
        packed += b"garbage behind it"
    with pytest.raises(Damaged, match=r"x cannot be unpacked as (gzip|xz|zstd)"):
        unpack(bytes(packed), 4096)


def test_what_is_not_packed() -> None:
    assert find_unpacker(b"\x45\x52\x08\x00\x00\x00", "x") is None
    assert find_unpacker(b"", "x") is None
