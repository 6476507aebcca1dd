# SPDX-License-Identifier: Apache-2.0
"""A table gives the same bytes as what it stands for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.image.assembly import Assembly, Stretch
from muster.image.overlay import Overlay, Patch

BASE = bytes(range(100))


def pread(offset: int, length: int) -> bytes:
    return BASE[offset : offset + length]


def whole(assembly: Assembly) -> bytes:
    return assembly.read(pread, 0, assembly.size_bytes)


@st.composite
def overlays(draw: st.DrawFn, size: int) -> Overlay:
    new_size = draw(st.integers(0, size + 20))
    patches, at = [], 0
    while at < new_size and draw(st.booleans()):
        start = draw(st.integers(at, new_size - 1))
        data = draw(st.binary(min_size=1, max_size=new_size - start))
        patches.append(Patch(start, data, "x"))
        at = start + len(data)
    return Overlay.of(size, patches, size=new_size)


@given(st.data())
def test_overlays_over_each_other(data: st.DataObject) -> None:
    expected, assembly = BASE, Assembly.of_base(0, len(BASE))
    for _ in range(3):
        before = expected
        overlay = data.draw(overlays(len(before)))
        expected = overlay.read(lambda at, n, old=before: old[at : at + n], 0, overlay.size)  # type: ignore[misc]
        assembly = assembly.under(overlay)
        assert whole(assembly) == expected
    start, length = data.draw(st.integers(0, 130)), data.draw(st.integers(0, 130))
    assert assembly.read(pread, start, length) == expected[start : start + length]


def test_parts_can_move() -> None:
    assembly = Assembly.join((Stretch(0, 3, 50), Stretch(0, 2, data=b"ab"), Stretch(9, 0), Stretch(0, 1, 7)))
    assert whole(assembly) == BASE[50:53] + b"ab" + BASE[7:8]
    assert [each.start for each in assembly.stretches] == [0, 3, 5]
    assert assembly.memory_bytes == 2


def test_bytes_of_the_base_stay_in_the_base() -> None:
    assembly = Assembly.of_base(0, 100).under(Overlay.of(100, [Patch(10, b"new", "x")]))
    assert [(each.at, each.data) for each in assembly.cut(5, 20)] == [(5, None), (0, b"new"), (13, None)]


def test_an_overlay_for_something_else() -> None:
    with pytest.raises(ValueError, match="for 99 bytes"):
        Assembly.of_base(0, 100).under(Overlay.of(99, []))


def test_digests_tell_contents_apart() -> None:
    plain = Assembly.of_base(0, 10)
    assert plain.digest("a") == Assembly.of_base(0, 10).digest("a")
    others = [
        plain.digest("b"),
        Assembly.of_base(1, 10).digest("a"),
        Assembly.of_base(0, 9).digest("a"),
        Assembly((Stretch(0, 10, data=bytes(10)),)).digest("a"),
        Assembly((Stretch(0, 10, data=b"1" * 10),)).digest("a"),
    ]
    assert len({plain.digest("a"), *others}) == 6
