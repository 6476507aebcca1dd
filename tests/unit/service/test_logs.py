# SPDX-License-Identifier: Apache-2.0
"""The log of a host, out of what it sent."""

from __future__ import annotations

import io
import itertools
import lzma
import tarfile
import tracemalloc
import zlib
from collections.abc import Iterator

import pytest

from muster.service.logs import HostLog, Tail, read_log


def archive(**files: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"logs/{name.replace('_', '.')}")
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def test_the_end_of_the_journal() -> None:
    body = archive(other_log="x\n" * 500, journal_txt="one\ntwo\nthree\n", picture_png="\0" * 9999)
    assert read_log([body], 2) == HostLog(lines=("two", "three"), complete=False, file="logs/journal.txt")
    assert read_log([body], 3).complete


def test_lines_that_are_looked_for() -> None:
    body = archive(journal_txt="Disk is slow\nall well\nDISK is full\n")
    assert read_log([body], 10, "disk").lines == ("Disk is slow", "DISK is full")
    assert read_log([body], 10, "none").lines == ()


def test_without_a_journal_the_longest_text_counts() -> None:
    assert read_log([archive(a_log="1\n", b_log="1\n2\n")], 5).lines == ("1", "2")
    assert read_log([archive(picture_png="x")], 5) == HostLog(lines=(), complete=True)


@pytest.mark.parametrize(
    "body",
    [b"", b"nonsense", b"\x1f\x8b\x08", archive(journal_txt="a\n")[:60]],
    ids=["nothing", "nonsense", "a beginning", "half of it"],
)
def test_what_cannot_be_read_says_so(body: bytes) -> None:
    assert "cannot be read" in read_log([body], 5).lines[0]


def test_long_lines_and_bytes_that_are_no_text() -> None:
    assert len(read_log([archive(journal_txt="x" * 9000)], 1).lines[0]) == 4000


def packed(size: int, piece: bytes, name: str = "logs/journal.log") -> Iterator[bytes]:
    """An archive with a file of a repeated piece, made while it is read; a fraction of that is packed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    entry = tarfile.TarInfo(name)
    entry.size = size
    yield packer.compress(entry.tobuf())
    for _ in range(size // len(piece)):
        yield packer.compress(piece)
    yield packer.compress(bytes(2 * tarfile.BLOCKSIZE)) + packer.flush()


def test_an_archive_that_unpacks_to_very_much_is_read_in_bounded_memory_and_steps() -> None:
    """255 KiB of packed newlines once took a minute and 2.5 GiB."""
    tracemalloc.start()
    try:
        found = read_log(filter(None, packed(300 << 20, b"\n" * (1 << 20))), 5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 48 << 20
    assert found.lines[:5] == ("",) * 5
    assert "unpacks to more than 256 MiB; download it" in found.lines[5]
    assert not found.complete


@pytest.mark.parametrize("piece", [b"\n", b"x\n"])
def test_a_search_looks_at_a_bounded_number_of_lines(piece: bytes) -> None:
    found = read_log(filter(None, packed(32 << 20, piece * ((1 << 20) // len(piece)))), 3, "x")
    assert len(found.lines) <= 4
    assert found.complete is (piece == b"\n")
    assert piece == b"\n" or "lines had to be searched" in found.lines[-1]


def test_reading_ends_in_time() -> None:
    ticks = itertools.count()
    found = read_log(filter(None, packed(64 << 20, b"line\n" * 1000)), 2, clock=lambda: float(next(ticks)))
    assert found.lines[0] == "line"
    assert "takes more than 20 s" in found.lines[2]


def test_entries_and_their_names_are_bounded() -> None:
    entry = tarfile.TarInfo("x").tobuf()
    found = read_log([entry * 10_001 + bytes(1024)], 5)
    assert "more than 10000 entries" in found.lines[0]
    long = tarfile.TarInfo("@LongLink")
    long.type, long.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    assert "cannot be read" in read_log([long.tobuf() + bytes(9999)], 5).lines[0]


def test_an_archive_that_breaks_off_is_shown_as_far_as_it_goes() -> None:
    entry = tarfile.TarInfo("logs/journal.txt")
    entry.size = 9999
    found = read_log([entry.tobuf() + b"one\ntwo\nthr"], 9)
    assert found.lines == ("one", "two", "thr", "[the archive that the host sent cannot be read to its end]")


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_lines_are_the_same_however_the_archive_is_cut(size: int) -> None:
    text = "".join(f"line {number}\r\n" for number in range(5000)) + "last"
    body = archive(journal_txt=text)
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    assert read_log(pieces, 3).lines == ("line 4998", "line 4999", "last")
    assert read_log(pieces, 9999).lines == (*(f"line {number}" for number in range(5000)), "last")
    assert read_log(pieces, 2, "E 49").lines == ("line 4998", "line 4999")


def test_other_formats_than_gzip_are_not_unpacked() -> None:
    assert "cannot be read" in read_log([lzma.compress(bytes(99999))], 5).lines[0]


def test_lines_that_come_one_by_one_are_numbered() -> None:
    tail = Tail()
    tail.add(("one", "two"))
    first = tail.show(10)
    assert (first.lines, first.live, first.complete, first.next) == (("one", "two"), True, True, 2)
    tail.add(("three",))
    assert tail.show(10, after=first.next).lines == ("three",)
    assert tail.show(10, "T").lines == ("two", "three")
    assert tail.show(1).lines == ("three",)
    assert not tail.show(1).complete
    assert tail.show(10, after=99).lines == ("one", "two", "three")


def test_only_the_last_lines_are_kept() -> None:
    tail = Tail()
    tail.add(tuple(str(number) for number in range(5000)))
    assert tail.show(5000).lines[0] == "3000"
    assert not tail.show(5000).complete
    assert tail.show(5000, after=4998).lines == ("4998", "4999")


def test_the_bound_on_lines_holds_for_a_last_line_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line is looked at when the archive has ended: that is within the bounds, too."""
    monkeypatch.setattr("muster.service.logs.MAX_LOOKED", 2)
    found = read_log([archive(journal_txt="disk 1\ndisk 2\ndisk 3")], 5, "disk")
    assert found.lines[:3] == ("disk 1", "disk 2", "disk 3")
    assert "more than 2 lines had to be searched" in found.lines[3]
    assert not found.complete
