# SPDX-License-Identifier: Apache-2.0
"""Tar archives of all kinds in whatever portions they come, and what only looks like one."""

from __future__ import annotations

import contextlib
import io
import random
import struct
import tarfile

import pytest

from muster.release.oci.trouble import Damaged
from muster.release.tar_stream import Entry, Kind, Sink, TarReader

LONG = "/".join(["a-rather-long-name-of-a-folder"] * 9) + "/ümlaut"


class Listing:
    """Keeps everything."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.contents: dict[str, bytearray] = {}

    def begin(self, entry: Entry) -> Sink | None:
        self.entries.append(entry)
        if entry.kind is not Kind.FILE:
            return None
        self.contents[entry.name] = bytearray()
        return _Into(self.contents[entry.name])


class _Into:
    def __init__(self, data: bytearray) -> None:
        self._data = data

    def write(self, data: memoryview) -> None:
        self._data += data


def read(data: bytes, portion: int = 1 << 30) -> Listing:
    listing = Listing()
    reader = TarReader("the layer", listing.begin)
    for start in range(0, len(data), portion):
        reader.feed(data[start : start + portion])
    reader.finish()
    return listing


def archive(form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for name, content in ((LONG, b"long"), ("empty", b""), ("big", bytes(range(256)) * 40)):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o755
            tar.addfile(info, io.BytesIO(content))
        for kind, name in (
            (tarfile.DIRTYPE, "folder"),
            (tarfile.SYMTYPE, "symlink"),
            (tarfile.LNKTYPE, "link"),
            (tarfile.CHRTYPE, "null"),
            (tarfile.FIFOTYPE, "pipe"),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, LONG if "link" in name else ""
            tar.addfile(info)
    return out.getvalue()


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("portion", [1, 511, 512, 1000, 1 << 20])
def test_what_is_in_it(form: int, portion: int) -> None:
    listing = read(archive(form), portion)
    assert [(entry.name, entry.kind, entry.target) for entry in listing.entries] == [
        (LONG, Kind.FILE, ""),
        ("empty", Kind.FILE, ""),
        ("big", Kind.FILE, ""),
        ("folder", Kind.DIRECTORY, ""),
        ("symlink", Kind.SYMLINK, LONG),
        ("link", Kind.HARD_LINK, LONG),
        ("null", Kind.OTHER, ""),
        ("pipe", Kind.OTHER, ""),
    ]
    assert listing.contents == {LONG: b"long", "empty": b"", "big": bytes(range(256)) * 40}
    assert listing.entries[0].mode == 0o755


@pytest.mark.parametrize("end", [0, 512, 1024, 10_240])
def test_the_end_may_be_left_out(end: int) -> None:
    data = archive()
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        used = tar.getmembers()[-1].offset + 512
    assert len(read(data[:used] + bytes(end)).entries) == 8


@pytest.mark.parametrize("cut", [1, 512 + 100, 1500])
def test_an_end_that_comes_too_early(cut: int) -> None:
    with pytest.raises(Damaged, match="the layer cannot be read: it ends too early"):
        read(archive()[:cut])


@pytest.mark.parametrize("data", [b"\x45\x52\x08\x00" * 200, b"PK\x03\x04" + bytes(600), b" " * 512])
def test_what_is_no_archive(data: bytes) -> None:
    with pytest.raises(Damaged, match="it is not a tar archive"):
        read(data)


def header(kind: bytes, size: int, name: str = "x") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE])
def test_names_take_no_more_memory_than_names_may(kind: bytes) -> None:
    with pytest.raises(Damaged, match="too long"):
        read(header(kind, 8 << 30))


@pytest.mark.parametrize(
    "body",
    [b"x", b"5 a=b\n", b"99 a=b\n", b"0 a=b\n", b"6 ab\nxx", b"6 a=bcd", b"-6 a=b\n", b"99999999999 a=b\n"],
)
def test_attributes_that_are_none(body: bytes) -> None:
    data = header(tarfile.XHDTYPE, len(body)) + body.ljust(512, b"\0") + header(tarfile.REGTYPE, 0)
    with pytest.raises(Damaged, match="attributes of an entry cannot be read"):
        read(data)


@pytest.mark.parametrize("size", [b"-1", b"abc", b"9" * 30, "²".encode()])
def test_sizes_that_are_none(size: bytes) -> None:
    record = b"size=" + size + b"\n"
    body = b"%d %s" % (len(record) + 3, record)
    data = header(tarfile.XHDTYPE, len(body)) + body.ljust(512, b"\0") + header(tarfile.REGTYPE, 0)
    with pytest.raises(Damaged, match="a size that is no number"):
        read(data)


def test_a_size_below_zero() -> None:
    block = bytearray(header(tarfile.REGTYPE, 0))
    block[124:136] = struct.pack(">Bxxxq", 0xFF, -512)
    block[124:128] = b"\xff\xff\xff\xff"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    with pytest.raises(Damaged, match="an entry has a size below zero"):
        read(bytes(block))


def test_files_with_holes_are_known_and_passed_over() -> None:
    first = bytearray(header(tarfile.GNUTYPE_SPARSE, 512, "holes"))
    first[386:410] = b"%011o\0%011o\0" % (0, 512)
    first[482], first[483:495] = 1, b"%011o\0" % 1_000_000
    first[148:156] = b" " * 8
    first[148:156] = b"%06o\0 " % sum(first)
    more = bytearray(512)
    more[0:24] = b"%011o\0%011o\0" % (999_424, 0)
    data = (
        bytes(first)
        + bytes(more)
        + b"x" * 512
        + header(tarfile.REGTYPE, 3, "next")
        + b"abc".ljust(512, b"\0")
    )
    listing = read(data)
    assert [(entry.name, entry.sparse) for entry in listing.entries] == [("holes", True), ("next", False)]
    assert listing.contents["next"] == b"abc"


def test_damage_is_an_error_or_nothing_at_all() -> None:
    """Whatever is in an archive, no other error comes of it."""
    rng = random.Random(7)
    good = archive() + archive(tarfile.GNU_FORMAT)
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(rng.randrange(1, 30)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        with contextlib.suppress(Damaged):
            read(bytes(bad), rng.choice((100, 512, 1 << 20)))
