# SPDX-License-Identifier: Apache-2.0
"""A changed image is the base and a few patches, in every range and in every order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.errors import MediaError
from muster.image.overlay import Overlay, Patch
from tests.media import applied

BASE = bytes(range(100))


@st.composite
def overlays(draw: st.DrawFn, base_size: int = 100) -> Overlay:
    size = draw(st.integers(1, 160))
    patches: list[Patch] = []
    start = 0
    while start < size and len(patches) < 4:
        start = draw(st.integers(start, size))
        length = draw(st.integers(0, size - start))
        patches.append(Patch(start, draw(st.binary(min_size=length, max_size=length)), f"p{len(patches)}"))
        start += length
    return Overlay.of(base_size, reversed(patches), size=size)


def naive(data: bytes, overlay: Overlay) -> bytes:
    result = bytearray(data[: overlay.size].ljust(overlay.size, b"\0"))
    for patch in overlay.patches:
        result[patch.offset : patch.end] = patch.data
    return bytes(result)


@given(overlays(), st.integers(0, 170), st.integers(0, 170))
def test_any_range_is_that_of_the_result(overlay: Overlay, offset: int, length: int) -> None:
    read = overlay.read(lambda at, count: BASE[at : at + count], offset, length)
    assert read == naive(BASE, overlay)[offset : offset + length]


@given(overlays(), st.data())
def test_two_overlays_are_one(first: Overlay, data: st.DataObject) -> None:
    second = data.draw(overlays(first.size))
    assert applied(BASE, first.then(second)) == naive(naive(BASE, first), second)


@given(overlays())
def test_each_byte_has_the_name_of_its_patch(overlay: Overlay) -> None:
    for offset in range(overlay.size):
        names = [p.name for p in overlay.patches if p.offset <= offset < p.end]
        assert overlay.name_at(offset) == (names[0] if names else None)


@pytest.mark.parametrize(
    "patches",
    [
        (Patch(0, b"abc", "one"), Patch(2, b"d", "two")),
        (Patch(5, b"abc", "one"), Patch(2, b"d", "two")),
        (Patch(99, b"ab", "over the end"),),
        (Patch(-1, b"ab", "before the start"),),
    ],
)
def test_patches_that_cannot_be_are_refused(patches: tuple[Patch, ...]) -> None:
    with pytest.raises(MediaError, match=f"{patches[-1].name} at byte {patches[-1].offset}"):
        Overlay(100, 100, patches)


def test_overlays_of_other_sizes_do_not_follow() -> None:
    with pytest.raises(ValueError, match="cannot follow"):
        Overlay(100, 120).then(Overlay(100, 100))
