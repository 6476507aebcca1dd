# SPDX-License-Identifier: Apache-2.0
"""A file that moves to the end of the image: trees, sizes and partition tables follow it."""

from __future__ import annotations

import functools
import hashlib
import json
import random
import struct
import zlib
from datetime import UTC, datetime

import pytest

from muster.errors import MediaError
from muster.image.coreos.customize import Customization, customize, read_contents, reset
from muster.image.iso.volume import Volume
from muster.image.iso.writer import render_iso
from tests import media
from tests.media import applied, image, replaced, volume

BASE = image(media.MODERN)
LARGE = random.Random(1).randbytes(300_000)


@functools.cache
def moved(base: bytes, ignition: bytes = LARGE) -> bytes:
    return applied(base, customize(volume(base), Customization(ignition=ignition)))


def partitions(data: bytes) -> list[tuple[int, int]]:
    """Start and length of each partition of the MBR."""
    entries = [struct.unpack_from("<II", data, 446 + 16 * n + 8) for n in range(4)]
    return [(start, count) for start, count in entries if count]


def gpt(data: bytes, at: int) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """The places a GPT header tells and its partitions; its checksums have to hold."""
    header = data[at : at + 92]
    assert header[:8] == b"EFI PART"
    assert zlib.crc32(header[:16] + bytes(4) + header[20:]) == struct.unpack_from("<I", header, 16)[0]
    places = struct.unpack_from("<QQQQ", header, 24)
    entries_at, count, size, checksum = struct.unpack_from("<QIII", header, 72)
    entries = data[entries_at * 512 :][: count * size]
    assert zlib.crc32(entries) == checksum
    found = [struct.unpack_from("<QQ", entries, n * size + 32) for n in range(count)]
    return (*places, entries_at), [(first, last) for first, last in found if last]


def test_every_tree_finds_the_larger_file() -> None:
    result = volume(moved(BASE))
    assert result.size_bytes == 1048576 + 327680 + 2048
    assert result.file_size == 2 << 20
    for tree in result.trees:
        assert tree.space_bytes == result.size_bytes
        (found,) = [file for file in result.walk(tree) if file.path == "images/ignition.img"]
        assert (found.offset, found.length) == (1048576, 327680)
        both = result.read(found.record + 2, 16)
        assert struct.unpack("<I", both[:4]) == struct.unpack(">I", both[4:8])
        assert struct.unpack("<I", both[8:12]) == struct.unpack(">I", both[12:16])


def test_everything_else_stays_where_it_was() -> None:
    before = {file.path: file for file in volume(BASE).walk()}
    for file in volume(moved(BASE)).walk():
        if file.path != "images/ignition.img":
            assert file == before[file.path]
            assert moved(BASE)[file.offset : file.end] == BASE[file.offset : file.end]


def test_partitions_reach_the_new_end() -> None:
    result = moved(BASE)
    blocks = len(result) // 512
    assert partitions(BASE)[0] == (0, 2048)
    assert partitions(result) == [(0, blocks), partitions(BASE)[1]]
    # Heads, sectors and cylinders of the last block: 64, 32 and the second of the two.
    assert result[446 + 5 : 446 + 8] == bytes([63, 32, 1])
    first, entries = gpt(result, 512)
    second, same = gpt(result, len(result) - 512)
    assert first == (1, blocks - 1, 34, blocks - 34, 2)
    assert second == (blocks - 1, 1, 34, blocks - 34, blocks - 33)
    assert entries == same
    assert entries[0] == (0, volume(result).size_bytes // 512 - 1)
    assert entries[1] == gpt(BASE, 512)[1][1]


def test_a_header_of_old_tools_follows() -> None:
    base = image(media.WITH_HEADERS)
    result = moved(base)
    magic, offset, length = struct.unpack_from("<8sQQ", result, 32744)
    assert (magic, offset, length) == (b"coreiso+", len(base), 327680)
    assert applied(result, reset(volume(result))) == base


def test_there_is_room_to_customize_it_again() -> None:
    assert read_contents(volume(moved(BASE))).capacity_bytes == 327680
    larger = moved(moved(BASE), LARGE * 2)
    assert larger == moved(BASE, LARGE * 2)
    assert read_contents(volume(larger)).ignition == LARGE * 2


def test_secrets_do_not_stay_in_the_old_place() -> None:
    secret = b"SECRET" + random.Random(2).randbytes(1000)
    before = moved(BASE, secret)
    assert moved(before) == moved(BASE)


def test_an_image_without_partitions_grows_too() -> None:
    base = render_iso({"images/ignition.img": bytes(4096)}, label="L", when=datetime(2026, 1, 1, tzinfo=UTC))
    result = moved(base, LARGE[:9000])
    assert read_contents(volume(result)).ignition == LARGE[:9000]
    assert volume(result).size_bytes == len(result)
    assert applied(result, reset(volume(result))) == base


@pytest.mark.parametrize(
    ("cylinders", "new_size", "address"),
    [
        (1200, 1201 << 20, bytes([63, 32 | 0xC0, 0xFF])),
        # One more than there can be: there have to be more heads.
        (1024, 1009 * 65 * 32 * 512, bytes([64, 32 | 0xC0, 1008 & 0xFF])),
    ],
)
def test_an_image_of_more_than_1024_cylinders(cylinders: int, new_size: int, address: bytes) -> None:
    """As real ones of isohybrid have; the address of the last block cannot be told then."""
    size = cylinders << 20
    head = replaced(BASE, 512, bytes(512))
    entry = b"\x80\0\x01\0\0" + bytes([63, 32 | 0xC0, 0xFF]) + struct.pack("<II", 0, size // 512)
    head = replaced(head, 446, entry)

    def pread(offset: int, length: int) -> bytes:
        return head[offset : offset + length].ljust(min(length, size - offset), b"\0")

    overlay = customize(Volume("big.iso", pread, size), Customization(ignition=LARGE))
    assert overlay.size == new_size
    assert overlay.read(pread, 446, 16) == entry[:5] + address + struct.pack("<II", 0, new_size // 512)


@pytest.mark.parametrize(
    ("offset", "data", "said"),
    [
        (446 + 12, struct.pack("<I", 1000), "its partition ends at byte 512000"),
        (512 + 40, b"\x01", "the GPT of test.iso has a broken header"),
        (1024 + 40, b"\x01", "the GPT of test.iso has broken entries"),
        (20 * 2048, b"\0BEA01\x01", "has a UDF file system"),
    ],
)
def test_what_cannot_grow_is_refused(offset: int, data: bytes, said: str) -> None:
    with pytest.raises(MediaError, match=said):
        moved(replaced(BASE, offset, data))


@pytest.mark.parametrize(("count", "size"), [(0, 128), (1 << 31, 128), (128, 64), (1, 1 << 31)])
def test_absurd_tables_are_refused(count: int, size: int) -> None:
    header = bytearray(BASE[512 : 512 + 92])
    struct.pack_into("<II", header, 80, count, size)
    header[16:20] = bytes(4)
    struct.pack_into("<I", header, 16, zlib.crc32(header))
    with pytest.raises(MediaError, match=f"has {count} entries of {size} bytes"):
        moved(replaced(BASE, 512, bytes(header)))


def undo_at(data: bytes) -> int:
    return data.index(b"MUSTER-UNDO-1")


def test_a_damaged_undo_record_is_refused() -> None:
    result = moved(BASE)
    at = undo_at(result)
    for offset in (16, 20, 60, 200):
        with pytest.raises(MediaError, match=r"undo record of test.iso is damaged|but refers to"):
            reset(volume(replaced(result, at + offset, b"\xee")))


@pytest.mark.parametrize(
    "undo",
    [
        {"size": 1 << 40, "patches": []},
        {"size": 0, "patches": []},
        {"size": -1, "patches": []},
        {"size": 1048576},
        {"size": 1048576, "patches": [[0, "zz", "x"]]},
        {"size": 1048576, "patches": [[0]]},
        {"size": 1048576, "patches": [[-5, "00", "x"]]},
        {"size": 1048576, "patches": [[1048576, "00", "x"]]},
        {"size": 1048576, "patches": [[5, "0000", "x"], [6, "00", "y"]]},
        {"size": 4096, "patches": []},
        [],
    ],
)
def test_an_undo_record_is_not_believed(undo: object) -> None:
    result = moved(BASE)
    body = json.dumps(undo).encode()
    at = undo_at(result)
    forged = b"MUSTER-UNDO-1\r\n\0" + struct.pack("<I", len(body)) + hashlib.sha256(body).digest() + body
    with pytest.raises(MediaError):
        reset(volume(replaced(result, at, forged)))
