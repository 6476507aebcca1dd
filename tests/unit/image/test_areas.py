# SPDX-License-Identifier: Apache-2.0
"""Finding the areas of live images of all ages, and refusing those that cannot be right."""

from __future__ import annotations

import struct

import pytest

from muster.errors import MediaError
from muster.image.coreos.areas import Layout, load_layout
from tests import media
from tests.media import IGNINFO, KARGS, build, replaced, volume


def layout(data: bytes) -> Layout:
    return load_layout(volume(data))


@pytest.mark.parametrize(
    ("name", "ignition", "kargs"),
    [
        (media.MODERN, (139264, 262144), [137037, 408522]),
        (media.S390X, (203776, 262144), [138368]),
        (media.WITH_HEADERS, (161792, 262144), [139086, 431050]),
        (media.HEADERS_ONLY, (96256, 262144), [94026, 365415]),
        (media.OLDEST, (92160, 262144), []),
    ],
)
def test_areas_of_real_images(name: str, ignition: tuple[int, int], kargs: list[int]) -> None:
    found = layout(media.image(name))
    assert (found.ignition.offset, found.ignition.length) == ignition
    assert [place.area.offset for place in (found.kargs.areas if found.kargs else ())] == kargs
    assert (found.ignition.file is None) == (name == media.S390X)
    if found.kargs:
        assert found.kargs.current == found.kargs.default
        assert " ignition.platform.id=metal" in found.kargs.default


def test_areas_as_json_tells_them() -> None:
    found = layout(build())
    assert found.kargs is not None
    assert found.kargs.current == "coreos.liveiso=x ignition.firstboot"
    assert [place.area.name for place in found.kargs.areas] == [
        "the kernel arguments in EFI/grub.cfg",
        "the kernel arguments in isolinux/isolinux.cfg",
    ]
    assert found.features == {"live-initrd-network": True}
    inside = layout(build(igninfo={"file": "images/ignition.img", "offset": 1024, "length": 512}))
    assert inside.ignition.length == 512
    assert inside.ignition.offset == found.ignition.offset + 1024
    assert inside.ignition.file is None
    assert layout(build(igninfo={"file": "images/ignition.img", "offset": None})).ignition.file is not None


def test_an_image_without_json_has_default_places() -> None:
    found = layout(build(igninfo=None, kargs=None))
    assert found.ignition.length == 4096
    assert found.kargs is None


def test_headers_are_the_last_resort() -> None:
    data = build(igninfo=None, kargs=None, files={"images/ignition.img": b"", "images/old": bytes(2048)})
    data = data.replace(b"ignition.img", b"ignition.old").replace(b"IGNITION.IMG", b"IGNITION.OLD")
    place = volume(data).find("images/old")
    assert place is not None
    with_header = replaced(data, 32744, b"coreiso+" + struct.pack("<QQ", place.offset, 2048))
    assert layout(with_header).ignition.offset == place.offset
    with pytest.raises(MediaError, match="is not a CoreOS live image"):
        layout(data)
    outside = replaced(data, 32744, b"coreiso+" + struct.pack("<QQ", len(data) - 2047, 2048))
    with pytest.raises(MediaError, match=r"the Ignition area in test.iso is said to be at bytes"):
        layout(outside)


def header(size: int, *offsets: int) -> bytes:
    return b"coreKarg" + struct.pack("<QQ6Q", size, *offsets, *[0] * (7 - len(offsets)))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (header(2049, 100000, 100000), "said to have 2049 bytes"),
        (header(64, 1 << 60, 100000), "the default kernel arguments in test.iso is said to be at"),
        (header(64, 100000, (1 << 64) - 1), "the kernel arguments at byte 18446744073709551615 in test.iso"),
        (header(64, 94026), "names no place"),
        (header(64, 94026, 100), "is said to be 64 bytes at 100"),
        (header(1131, 94026, 94026, 94030), "the kernel arguments at byte 94030 are not at byte 94030"),
        (header(1131, 94026, 94026, 94026), "overlap in"),
    ],
)
def test_broken_headers(data: bytes, said: str) -> None:
    with pytest.raises(MediaError, match=said):
        layout(replaced(media.image(media.HEADERS_ONLY), 32672, data))


NESTED = b"[" * 60000


@pytest.mark.parametrize(
    ("igninfo", "said"),
    [
        (b"{", "coreos/igninfo.json in test.iso is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (NESTED, "is not JSON"),
        (b"[]", "is not a JSON object"),
        ({}, "file in coreos/igninfo.json is not a text"),
        ({"file": ""}, "file in coreos/igninfo.json is not a text"),
        ({"file": "images/none"}, "names images/none, which is not in test.iso"),
        ({**IGNINFO, "offset": -1}, "offset in coreos/igninfo.json is not a size"),
        ({**IGNINFO, "offset": True}, "offset in coreos/igninfo.json is not a size"),
        ({**IGNINFO, "offset": 1 << 70}, "offset in coreos/igninfo.json is not a size"),
        ({**IGNINFO, "offset": 4096}, "the Ignition area in test.iso is said to be 0 bytes"),
        ({**IGNINFO, "length": 0}, "the Ignition area in test.iso is said to be 0 bytes"),
        ({**IGNINFO, "length": 4097}, "the Ignition area in test.iso is said to be at bytes"),
        ({**IGNINFO, "offset": 4000, "length": 100}, "the Ignition area in test.iso is said to be at bytes"),
        (b" " * 70000, "has 70000 bytes"),
    ],
)
def test_broken_igninfo(igninfo: object, said: str) -> None:
    with pytest.raises(MediaError, match=said) as caught:
        layout(build(igninfo=igninfo))
    assert caught.value.hint


GRUB = {"path": "EFI/grub.cfg", "offset": 6}


@pytest.mark.parametrize(
    ("kargs", "said"),
    [
        (b"not json", "coreos/kargs.json in test.iso is not JSON"),
        ({**KARGS, "size": 2049}, "said to have 2049 bytes; 1 to 2048 are possible"),
        ({**KARGS, "size": 0}, "said to have 0 bytes"),
        ({**KARGS, "size": "128"}, "size in coreos/kargs.json"),
        ({**KARGS, "default": None}, "default in coreos/kargs.json is not a text"),
        ({**KARGS, "default": "x" * 128}, "longer than their area of 128"),
        (
            {**KARGS, "default": "y", "size": 130},
            "the kernel arguments in EFI/grub.cfg in test.iso is said to be at",
        ),
        ({**KARGS, "files": []}, "names no files"),
        ({**KARGS, "files": {"a": 1}}, "names no files"),
        ({**KARGS, "files": ["x"]}, "has a file that is not an object"),
        ({**KARGS, "files": [{"path": "EFI/grub.cfg"}]}, "offset in coreos/kargs.json"),
        ({**KARGS, "files": [{"path": "none", "offset": 1}]}, "names none, which is not in"),
        ({**KARGS, "files": [{**GRUB, "pad": "##"}]}, "pad in coreos/kargs.json is not one ASCII character"),
        ({**KARGS, "files": [{**GRUB, "end": "ü"}]}, "end in coreos/kargs.json is not one ASCII character"),
        ({**KARGS, "files": [GRUB, GRUB]}, "overlap in test.iso"),
        (
            {**KARGS, "files": [GRUB, {**GRUB, "path": "isolinux/isolinux.cfg"}]},
            "in isolinux/isolinux.cfg are not at byte",
        ),
        (
            {**KARGS, "files": [GRUB, {"path": "isolinux/isolinux.cfg", "offset": 7, "pad": "\n"}]},
            "in isolinux/isolinux.cfg are not at byte",
        ),
        (
            {**KARGS, "files": [GRUB, {"path": "isolinux/other.cfg", "offset": 7}]},
            "in EFI/grub.cfg and the kernel arguments in isolinux/other.cfg differ",
        ),
    ],
)
def test_broken_kargs(kargs: object, said: str) -> None:
    with pytest.raises(MediaError, match=said) as caught:
        layout(build(kargs=kargs))
    assert caught.value.hint


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("EFI/grub.cfg", "overlap"),
        ("coreos/features.json", "is in more than one file"),
        ("the root", "the Ignition area overlaps / in"),
        ("the descriptors", "is said to be 2048 bytes at 32768"),
    ],
)
def test_an_area_that_is_something_else_too(target: str, said: str) -> None:
    """A broken directory record must not lead to writing over other things."""
    data = build()
    place = volume(data).find(target)
    root = struct.unpack_from("<I", data, 32768 + 156 + 2)[0]
    lba = place.offset // 2048 if place else {"the root": root, "the descriptors": 16}[target]
    ignition = volume(data).find("images/ignition.img")
    assert ignition is not None
    data = replaced(data, ignition.record + 2, struct.pack("<I", lba))
    data = replaced(data, ignition.record + 10, struct.pack("<I", 2048))
    with pytest.raises(MediaError, match=said):
        layout(data)
