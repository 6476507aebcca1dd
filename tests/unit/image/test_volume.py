# SPDX-License-Identifier: Apache-2.0
"""Reading ISO 9660 volumes, sound and broken ones."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.errors import ExternalError, MediaError
from muster.image.iso.volume import Volume
from muster.image.iso.writer import render_iso
from tests import media
from tests.media import replaced, volume

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MODERN = media.image(media.MODERN)
PVD = 16 * 2048


def small(**files: bytes) -> bytes:
    return render_iso({name.replace("__", "/"): data for name, data in files.items()}, label="L", when=WHEN)


def test_label_size_and_files() -> None:
    found = volume(MODERN)
    assert found.label == "fedora-coreos-38.20230718.dev.0"
    assert (found.size_bytes, found.file_size) == (741376, 1048576)
    paths = [file.path for file in found.walk()]
    assert "images/pxeboot/rootfs.img" in paths
    assert "coreos/kargs.json" in paths
    joliet = [file.path for file in found.walk(found.trees[1])]
    assert sorted(joliet) == sorted(paths)


@pytest.mark.parametrize(
    "path",
    ["coreos/igninfo.json", "COREOS/IGNINFO.JSO", "/coreos/igninfo.json", "Coreos/IgnInfo.Json"],
)
def test_a_file_is_found_by_each_of_its_names(path: str) -> None:
    found = volume(MODERN).find(path)
    assert found is not None
    assert volume(MODERN).load(found, limit=100).startswith(b'{\n  "file"')
    length = MODERN[found.record]
    assert b"IGNINFO.JSO;1" in MODERN[found.record : found.record + length]


@pytest.mark.parametrize(
    "path", ["coreos", "coreos/no.json", "no/igninfo.json", "coreos/igninfo.json/x", "COREOS/IGNINFO.JSON"]
)
def test_what_is_not_there_is_not_found(path: str) -> None:
    expected = path == "COREOS/IGNINFO.JSON"
    assert (volume(MODERN).find(path) is not None) is expected


def test_a_volume_without_rock_ridge_has_short_names() -> None:
    data = small(coreos__igninfo_json=b"x", coreos__other=b"y")
    data = data.replace(b"SP\x07\x01\xbe\xef", b"XX\x07\x01\xbe\xef")
    found = volume(data)
    assert sorted(file.path for file in found.walk()) == ["COREOS/IGNINFO_", "COREOS/OTHER"]
    assert found.find("coreos/other") is not None


def test_a_long_name_is_not_mistaken_for_a_short_one() -> None:
    data = render_iso({"ignition.image": b"wrong"}, label="L", when=WHEN)
    assert volume(data).find("ignition.imagination") is None
    assert volume(data).find("IGNITION.IMA") is not None


def test_a_file_of_several_extents_is_one_file() -> None:
    """Files of 4 GiB and more have several records with the same name."""
    data = bytearray(small(aa=b"x" * 4096, ab=b"y" * 10))
    first, second = (data.index(name) - 33 for name in (b"AA.;1", b"AB.;1"))
    lba = struct.unpack_from("<I", data, first + 2)[0]
    data[first + 25] |= 0x80
    data[second : second + data[second]] = data[first : first + data[first]]
    data[second + 25] &= ~0x80
    struct.pack_into("<I", data, second + 2, lba + 2)
    struct.pack_into("<I", data, second + 10, 10)
    found = volume(bytes(data)).find("aa")
    assert found is not None
    assert (found.length, found.sections) == (4106, 2)
    struct.pack_into("<I", data, second + 2, lba + 1)
    with pytest.raises(MediaError, match="scattered"):
        volume(bytes(data)).find("aa")
    data[second + 33] = ord("B")
    with pytest.raises(MediaError, match="out of place"):
        volume(bytes(data)).find("aa")


def test_a_length_just_under_4_gib_is_compared_with_the_file() -> None:
    data = small(f=b"x")
    at = data.index(b"F.;1") - 33
    with pytest.raises(MediaError, match=r"f would end at byte \d+ of test.iso, which has"):
        volume(replaced(data, at + 10, b"\xff\xff\xff\xff")).find("f")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not an ISO 9660 image"),
        (b"x" * 40000, "is not an ISO 9660 image"),
        (MODERN[:32768], "is not an ISO 9660 image"),
        (MODERN[:741375], "is incomplete: it has 741375 bytes of 741376"),
        (MODERN[: PVD + 2048], "but refers to"),
        (replaced(MODERN, PVD + 3 * 2048 + 1, b"XX"), "have no end"),
        (replaced(MODERN, PVD, b"\x03"), "no primary volume descriptor"),
        (replaced(MODERN, PVD + 128, b"\0\x04"), "blocks of 1024 bytes"),
        (replaced(MODERN, PVD + 156, b"\0"), "has a length of 0 bytes"),
        (replaced(MODERN, PVD + 156 + 25, b"\0"), "is not a directory"),
        (replaced(MODERN, PVD + 156 + 2, b"\xff\xff\xff\xff"), "refers to 2048 bytes at"),
        (MODERN[: PVD + 2048] + MODERN[PVD + 2048 : PVD + 4096] * 400, "more than 64 volume descriptors"),
    ],
)
def test_broken_descriptors(data: bytes, said: str) -> None:
    with pytest.raises(MediaError, match=said) as caught:
        volume(data)
    assert caught.value.hint


def test_directories_that_go_in_circles() -> None:
    data = small(a__b__c=b"x")
    at = data.index(b"NM\x06\x01\x00b")
    record = data.rindex(bytes([0x02, 0, 0, 1, 0, 0, 1, 1]) + b"B", 0, at) - 25
    root = struct.unpack_from("<I", data, PVD + 156 + 2)[0]
    looped = volume(replaced(data, record + 2, struct.pack("<I", root)))
    with pytest.raises(MediaError, match=r"go in circles or are too many at a/b$"):
        list(looped.walk())
    assert looped.find("a/b/a/b/c") is None


@pytest.mark.parametrize(
    ("offset", "byte", "said"),
    [
        (0, 20, "has a length of 20"),
        (32, 0, "a name of 0 bytes"),
        (32, 250, "a name of 250 bytes"),
        (1, 1, "extended attribute"),
        (26, 1, "interleaved"),
        (27, 1, "interleaved"),
    ],
)
def test_broken_records(offset: int, byte: int, said: str) -> None:
    data = small(f=b"x")
    at = data.index(b"F.;1") - 33
    padded = replaced(data, at + offset, bytes([byte]))
    with pytest.raises(MediaError, match=said):
        list(volume(padded).walk())


def test_a_record_stays_in_its_sector() -> None:
    data = small(**{f"file{number:02}": b"x" for number in range(40)})
    files = sorted(volume(data).walk(), key=lambda file: file.record % 2048)
    with pytest.raises(MediaError, match="more than its sector has"):
        list(volume(replaced(data, files[-1].record, b"\xff")).walk())


def test_an_absurd_directory() -> None:
    data = small(d__f=b"x")
    at = data.index(b"\x01DPX") - 32
    with pytest.raises(MediaError, match="a directory of 2147483648 bytes"):
        volume(replaced(data, at + 10, struct.pack("<I", 1 << 31))).find("d/f")


@pytest.mark.parametrize(
    ("lba", "length", "said"),
    [(0xFFFFFF, 28, "refers to 28 bytes"), (1, 1 << 31, "continues for"), (None, 28, "without end")],
)
def test_broken_continuations(lba: int | None, length: int, said: str) -> None:
    """A continuation that is outside, huge, or leads to itself."""
    data = small(f=b"x")
    at = data.index(b"NM\x06\x01\x00f") - 62
    where = (at // 2048, at % 2048) if lba is None else (lba, 0)
    numbers = b"".join(struct.pack("<I", n) + struct.pack(">I", n) for n in (*where, length))
    with pytest.raises(MediaError, match=said):
        volume(replaced(data, at, b"CE\x1c\x01" + numbers)).find("f")


def test_files_are_opened_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.iso"
    path.write_bytes(MODERN)
    with Volume.open(path) as found:
        assert found.read(PVD, 6) == b"\x01CD001"
        path.write_bytes(b"")
        with pytest.raises(MediaError, match="became shorter"):
            found.read(PVD, 6)
    with pytest.raises(ExternalError, match="bad file descriptor"):
        found.read(PVD, 6)
    with pytest.raises(ExternalError, match="no such file"):
        Volume.open(tmp_path / "none.iso")
    with pytest.raises(ExternalError, match="is a directory"):
        Volume.open(tmp_path)


@pytest.mark.parametrize(
    ("offset", "length"), [(-1, 1), (0, -1), (len(MODERN), 1), (0, len(MODERN) + 1), (1 << 70, 1)]
)
def test_nothing_is_read_outside(offset: int, length: int) -> None:
    with pytest.raises(MediaError, match="but refers to"):
        volume(MODERN).read(offset, length)
