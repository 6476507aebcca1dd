# SPDX-License-Identifier: Apache-2.0
"""The fs-verity digest, whole and with only the touched blocks hashed anew."""

from __future__ import annotations

import hashlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.errors import MediaError
from muster.image.overlay import Overlay, Patch
from muster.image.verity import Leaves, hash_leaves

# What `fsverity digest` of fsverity-utils prints.
KNOWN = {
    b"": "3d248ca542a24fc62d1c43b916eae5016878e2533c88238480b26128a1f1af95",
}


def naive(data: bytes) -> bytes:
    """As the kernel's documentation describes it, without any shortcut."""
    level = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    hashes = [hashlib.sha256(block.ljust(4096, b"\0")).digest() for block in level]
    while len(hashes) > 1:
        joined = b"".join(hashes)
        blocks = [joined[at : at + 4096] for at in range(0, len(joined), 4096)]
        hashes = [hashlib.sha256(block.ljust(4096, b"\0")).digest() for block in blocks]
    root = hashes[0] if hashes else b""
    return hashlib.sha256(struct.pack("<BBBBIQ64s32s144x", 1, 1, 12, 0, 0, len(data), root, b"")).digest()


def leaves(data: bytes) -> Leaves:
    return hash_leaves(lambda offset, length: data[offset : offset + length], len(data))


@pytest.mark.parametrize("data", KNOWN)
def test_known_digests(data: bytes) -> None:
    assert leaves(data).digest.hex() == KNOWN[data]


@pytest.mark.parametrize(
    "size", [0, 1, 4095, 4096, 4097, 4096 * 128, 4096 * 128 + 1, 4096 * 300, (4 << 20) + 77]
)
def test_the_digest_of_any_size(size: int) -> None:
    data = (b"0123456789abcdef-" * (size // 17 + 1))[:size]
    assert leaves(data).digest == naive(data)
    assert Leaves.parse(leaves(data).save()) == leaves(data)


DATA = b"".join(struct.pack("<Q", n) for n in range(4096 * 130 // 8 + 3))
LEAVES = leaves(DATA)


@settings(deadline=None)
@given(
    st.sampled_from(
        [len(DATA), len(DATA) + 1, len(DATA) + 5000, len(DATA) // 2, 4096 * 128, 4096, 10, 0, len(DATA) * 2]
    ),
    st.lists(st.tuples(st.integers(0, len(DATA) * 2), st.binary(min_size=1, max_size=9000)), max_size=3),
)
def test_only_touched_blocks_are_hashed(size: int, spots: list[tuple[int, bytes]]) -> None:
    patches: list[Patch] = []
    for offset, data in sorted(spots):
        if (not patches or patches[-1].end <= offset) and offset + len(data) <= size:
            patches.append(Patch(offset, data, "x"))
    overlay = Overlay.of(len(DATA), patches, size=size)
    read = 0

    def pread(offset: int, length: int) -> bytes:
        nonlocal read
        read += length
        return DATA[offset : offset + length]

    digest = LEAVES.digest_with(overlay, pread)
    assert read <= 4096 * (2 * len(patches) + 1)
    assert digest == naive(overlay.read(lambda at, length: DATA[at : at + length], 0, size))


def test_hashes_of_another_file_are_refused() -> None:
    with pytest.raises(MediaError, match="not 5"):
        LEAVES.digest_with(Overlay(5, 5), lambda _offset, _length: b"")


@pytest.mark.parametrize(
    "damage", [b"", b"x", LEAVES.save()[:-1], LEAVES.save() + b"x", b"X" + LEAVES.save()[1:]]
)
def test_a_damaged_cache_is_refused(damage: bytes) -> None:
    with pytest.raises(MediaError, match="damaged"):
        Leaves.parse(damage)


def test_a_flipped_bit_in_the_cache_is_found() -> None:
    saved = bytearray(LEAVES.save())
    for at in range(0, len(saved), 37):
        saved[at] ^= 1
        with pytest.raises(MediaError, match="damaged"):
            Leaves.parse(bytes(saved))
        saved[at] ^= 1


def test_a_file_that_became_shorter_is_refused() -> None:
    with pytest.raises(MediaError, match="became shorter"):
        hash_leaves(lambda _offset, _length: b"x", 100)
