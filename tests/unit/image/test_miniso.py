# SPDX-License-Identifier: Apache-2.0
"""The minimal twin of a live image."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.errors import MediaError, UserError
from muster.image.compression import compress
from muster.image.coreos.areas import load_layout
from muster.image.coreos.customize import Customization, customize
from muster.image.coreos.miniso import (
    Entry,
    Recipe,
    minimal_iso,
    pack_minimal,
    parse_recipe,
    render_recipe,
)
from tests import media
from tests.media import applied, build, image, replaced, volume

URL = "http://192.0.2.1/rootfs.img"
ROOTFS = {"images/pxeboot/rootfs.img": b"r" * 30000, "coreos/miniso.dat": bytes(8192)}
COMMON = {"images/pxeboot/vmlinuz": b"k" * 5000, "empty": b""}
NUMBERS = st.integers(0, 1 << 40)


def full_image(change: Recipe | None = None) -> bytes:
    """A tiny live image with its minimal twin in it."""
    full, minimal = build(files={**COMMON, **ROOTFS}), build(files=COMMON)
    recipe = change or pack_minimal(volume(full), volume(minimal))
    place = volume(full).find("coreos/miniso.dat")
    assert place is not None
    return replaced(full, place.offset, render_recipe(recipe, "muster 0"))


def recipe_of(data: bytes) -> Recipe:
    place = volume(data).find("coreos/miniso.dat")
    assert place is not None
    return parse_recipe(data[place.offset : place.end])


@pytest.mark.parametrize("name", [media.MODERN, media.S390X, media.WITH_HEADERS])
def test_real_images_have_a_twin(name: str) -> None:
    minimal = minimal_iso(volume(image(name)), URL)
    kargs = load_layout(minimal.volume.view(minimal.overlay)).kargs
    assert kargs is not None
    assert "coreos.liveiso" not in kargs.current + kargs.default
    assert kargs.current == f"{kargs.default} coreos.live.rootfs_url={URL}"
    assert minimal.volume.find("images/pxeboot/rootfs.img") is None
    assert minimal.volume.find("images/pxeboot/initrd.img") is not None


def test_a_recipe_is_what_coreos_installer_writes() -> None:
    data = image(media.MODERN)
    place = volume(data).find("coreos/miniso.dat")
    assert place is not None
    stored = data[place.offset : place.end]
    assert stored.startswith(render_recipe(parse_recipe(stored), stored[10 : 10 + stored[9]].decode()))


def test_files_that_differ_are_in_the_recipe() -> None:
    """Such as the boot catalogue, which says where a boot image lies in each of the two."""
    full = build(files={**COMMON, **ROOTFS, "boot/boot.cat": b"f" * 2048})
    minimal = build(files={**COMMON, "boot/boot.cat": b"m" * 2048})
    recipe = pack_minimal(volume(full), volume(minimal))
    place = volume(full).find("coreos/miniso.dat")
    assert place is not None
    made = minimal_iso(volume(replaced(full, place.offset, render_recipe(recipe, "muster 0"))), None)
    assert made.volume.read(0, len(minimal)) == minimal


def test_our_own_twin_is_made_again() -> None:
    full = full_image()
    plain = minimal_iso(volume(full), None)
    minimal = build(files=COMMON)
    assert plain.volume.read(0, len(minimal)) == minimal


def test_reading_by_range_is_reading_a_part() -> None:
    minimal = minimal_iso(volume(image(media.MODERN)), URL)
    whole = minimal.read(0, minimal.overlay.size)
    assert len(whole) == minimal.overlay.size
    for start in range(0, len(whole), 7919):
        assert minimal.read(start, 5000) == whole[start : start + 5000]
    assert minimal.read(len(whole), 10) == b""


def test_a_customized_image_counts_as_reset() -> None:
    base = full_image()
    for ignition in (b"{}", bytes(range(256)) * 99):
        wanted = Customization(ignition=ignition, kargs_append=("a",))
        changed = applied(base, customize(volume(base), wanted))
        other = minimal_iso(volume(changed), URL)
        assert other.read(0, 1 << 30) == minimal_iso(volume(base), URL).read(0, 1 << 30)


def test_the_description_keeps_its_length() -> None:
    minimal = minimal_iso(volume(full_image()), URL)
    view = minimal.volume.view(minimal.overlay)
    place, before = view.find("coreos/kargs.json"), volume(full_image()).find("coreos/kargs.json")
    assert place is not None
    assert before is not None
    assert place.length == before.length
    assert json.loads(view.read(place.offset, place.length))["default"] == "ignition.firstboot"


@pytest.mark.parametrize("url", ["", "a b", " a", "a\n"])
def test_urls_that_cannot_be(url: str) -> None:
    with pytest.raises(UserError, match="is not a URL"):
        minimal_iso(volume(full_image()), url)


def test_an_image_without_a_twin_is_refused() -> None:
    with pytest.raises(MediaError, match=r"has no minimal image"):
        minimal_iso(volume(build()), URL)
    with pytest.raises(MediaError, match=r"empty of test.iso is not in test.iso"):
        pack_minimal(volume(build()), volume(build(files=COMMON)))
    with pytest.raises(MediaError, match=r"coreos/miniso.dat of test.iso is not in test.iso"):
        pack_minimal(volume(full_image()), volume(full_image()))


GOOD = recipe_of(full_image())


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        (dataclasses.replace(GOOD, digest=bytes(32)), "does not match its checksum"),
        (dataclasses.replace(GOOD, packed=b"garbage" * 9), "cannot be unpacked"),
        (dataclasses.replace(GOOD, packed=compress(b"few")), "does not hold all bytes"),
        (dataclasses.replace(GOOD, entries=()), "names no files"),
        (dataclasses.replace(GOOD, entries=(Entry(9, 1, 2049), Entry(10, 1, 1))), "at 9 and 10 overlap"),
        (dataclasses.replace(GOOD, entries=(Entry(0, 1 << 40, 2048),)), "refers to 2048 bytes in sector"),
    ],
)
def test_broken_recipes(recipe: Recipe, said: str) -> None:
    with pytest.raises(MediaError, match=said):
        minimal_iso(volume(full_image(recipe)), URL)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "ends in the middle"),
        (b"MINISO\0\1", "does not start"),
        (b"MINISO\0\0\x02\x030.1", "has version 2, made by '0.1'"),
        (b"MINISO\0\0\x01\x00\xfd" + b"\xff" * 8, "has 18446744073709551615 entries"),
        (b"MINISO\0\0\x01\xfe", "a number that starts with 254"),
        (b"MINISO\0\0\x01\xfc\xff\xff\xff\xff", "ends in the middle"),
    ],
)
def test_bytes_that_are_no_recipe(data: bytes, said: str) -> None:
    with pytest.raises(MediaError, match=said):
        parse_recipe(data)


@given(st.lists(st.tuples(NUMBERS, st.integers(0, 5000)), min_size=1, max_size=5), st.binary(max_size=300))
def test_recipes_are_read_as_written(steps: list[tuple[int, int]], packed: bytes) -> None:
    entries, lba = [], 0
    for full, length in steps:
        entries.append(Entry(lba, full, length))
        lba += length // 2048 + 1 + full % 7
    recipe = Recipe(tuple(entries), hashlib.sha256(packed).digest(), packed)
    assert parse_recipe(render_recipe(recipe, "1") + b"padding") == recipe


def test_numbers_are_as_bincode_writes_them() -> None:
    recipe = Recipe((Entry(250, 251, 1 << 16), Entry(1 << 16, 1 << 32, 1)), bytes(32), b"")
    expected = (
        b"MINISO\0\0\x01\x01v\x02\xfa"
        + b"\xfb\xfb\x00"
        + b"\xfc"
        + struct.pack("<I", 1 << 16)
        + b"\xfc"
        + struct.pack("<I", 1 << 16)
        + b"\xfd"
        + struct.pack("<Q", 1 << 32)
        + b"\x01"
        + bytes(32)
        + b"\0"
    )
    assert render_recipe(recipe, "v") == expected
