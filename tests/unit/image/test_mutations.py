# SPDX-License-Identifier: Apache-2.0
"""However an image is damaged, Muster says so or does the right thing; it never writes elsewhere."""

from __future__ import annotations

import functools
import random
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.errors import MediaError
from muster.image.coreos.areas import load_layout
from muster.image.coreos.customize import Customization, customize, read_contents, reset
from muster.image.coreos.miniso import minimal_iso
from muster.image.overlay import Overlay
from tests import media
from tests.media import applied, build, image, replaced, volume

SLOW = settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
SMALL = Customization(ignition=b'{"ignition": {"version": "3.4.0"}}', kargs_append=("a=b",))
LARGE = Customization(ignition=random.Random(1).randbytes(9000), kargs_append=("a=b",))
MOVED_NAMES = ("the partition table", "the volume size", "the directory record", "the Ignition header")
VALUES = (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF)


@functools.cache
def base(name: str) -> bytes:
    """An image whose Ignition area has only 4096 bytes, so that little is needed to let it move."""
    if name == "tiny":
        return build()
    data = image(name)
    found = volume(data)
    for tree in found.trees:
        for file in found.walk(tree):
            if file.path == "images/ignition.img":
                data = replaced(data, file.record + 10, struct.pack("<I", 4096) + struct.pack(">I", 4096))
    return data


@functools.cache
def moved(name: str) -> bytes:
    return applied(base(name), customize(volume(base(name)), LARGE))


@functools.cache
def spots(data: bytes) -> tuple[int, ...]:
    """The bytes that tell where things are: tables, headers, descriptors, directories, JSON, undo record."""
    found = volume(data)
    ranges = [(440, 512), (512, 604), (1024, 1152), (32672, 32768)]
    for tree in found.trees:
        ranges.append((tree.descriptor, tree.descriptor + 192))
        ranges += [(entry.offset, entry.end) for entry in found.entries(tree) if entry.is_directory]
    ranges += [(file.offset, file.end) for file in found.walk() if file.path.startswith("coreos/")]
    layout = load_layout(found)
    areas = [layout.ignition, *(place.area for place in (layout.kargs.areas if layout.kargs else ()))]
    ranges += [(area.offset, area.offset + 200) for area in areas]
    if (undo := data.find(b"MUSTER-UNDO")) > 0:
        ranges.append((undo, undo + 1200))
    return tuple(at for start, end in ranges for at in range(start, end) if data[at] or at % 64 == 0)


IMAGES = {
    "modern": base(media.MODERN),
    "headers": base(media.WITH_HEADERS),
    "old": base(media.HEADERS_ONLY),
    "s390x": image(media.S390X),
    "tiny": base("tiny"),
    "moved": moved(media.MODERN),
    "moved with headers": moved(media.WITH_HEADERS),
}


def check_patches(data: bytes, overlay: Overlay) -> None:
    """Only areas were written, or what a move has to write."""
    before = volume(data)
    layout = load_layout(before)
    areas = [layout.ignition, *(place.area for place in (layout.kargs.areas if layout.kargs else ()))]
    allowed = [(area.offset, area.end) for area in areas]
    folders: list[tuple[int, int]] = []
    if overlay.size != before.file_size:
        entries = (entry for tree in before.trees for entry in before.entries(tree))
        folders = [(entry.offset, entry.end) for entry in entries if entry.is_directory]
    for patch in overlay.patches:
        in_area = any(start <= patch.offset and patch.end <= end for start, end in allowed)
        if in_area or patch.offset >= before.file_size:
            continue
        assert patch.name.startswith(MOVED_NAMES), patch
        assert len(patch.data) <= 92, patch
        in_folder = any(start <= patch.offset and patch.end <= end for start, end in folders)
        assert in_folder or patch.end <= before.descriptors_end, patch


def check_image(data: bytes) -> None:
    """The property itself."""
    try:
        found = volume(data)
        is_moved = read_contents(found).is_moved
        back = applied(data, reset(found))
    except MediaError:
        return
    assert not read_contents(volume(back)).is_customized
    for wanted in (SMALL, LARGE):
        try:
            overlay = customize(found, wanted)
        except MediaError:
            continue
        result = applied(data, overlay)
        contents = read_contents(volume(result))
        assert contents.ignition == wanted.ignition
        assert (contents.kargs or "").endswith("a=b")
        assert applied(result, reset(volume(result))) == back
        if not is_moved:
            check_patches(data, overlay)
    try:
        minimal_iso(found, "http://192.0.2.1/")
    except MediaError:
        return


@pytest.mark.parametrize("name", IMAGES)
def test_sound_images_are_customized(name: str) -> None:
    """Or the property would hold for nothing."""
    found = volume(IMAGES[name])
    assert read_contents(volume(applied(IMAGES[name], customize(found, SMALL)))).ignition == SMALL.ignition
    if name != "s390x":
        result = applied(IMAGES[name], customize(found, LARGE))
        assert read_contents(volume(result)).is_moved
    check_image(IMAGES[name])


@SLOW
@given(st.sampled_from(sorted(IMAGES)), st.data())
def test_damage_is_said_or_does_no_harm(name: str, data: st.DataObject) -> None:
    damaged = bytearray(IMAGES[name])
    for _ in range(data.draw(st.integers(1, 3))):
        places = spots(IMAGES[name])
        at = places[data.draw(st.integers(0, len(places) - 1))]
        damaged[at] = data.draw(st.sampled_from(VALUES) | st.integers(0, 255))
    check_image(bytes(damaged))


@SLOW
@given(st.sampled_from(sorted(IMAGES)), st.integers(0, 1 << 21))
def test_a_truncated_image_is_said_or_does_no_harm(name: str, size: int) -> None:
    check_image(IMAGES[name][:size])
