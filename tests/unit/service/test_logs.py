# SPDX-License-Identifier: Apache-2.0
"""The log of a host, out of what it sent."""

from __future__ import annotations

import io
import tarfile

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
    assert read_log(body, 2) == HostLog(lines=("two", "three"), complete=False, file="logs/journal.txt")
    assert read_log(body, 3).complete


def test_lines_that_are_looked_for() -> None:
    body = archive(journal_txt="Disk is slow\nall well\nDISK is full\n")
    assert read_log(body, 10, "disk").lines == ("Disk is slow", "DISK is full")
    assert read_log(body, 10, "none").lines == ()


def test_without_a_journal_the_longest_text_counts() -> None:
    assert read_log(archive(a_log="1\n", b_log="1\n2\n"), 5).lines == ("1", "2")
    assert read_log(archive(picture_png="x"), 5) == HostLog(lines=(), complete=True)


@pytest.mark.parametrize(
    "body",
    [b"", b"nonsense", b"\x1f\x8b\x08", archive(journal_txt="a\n")[:60]],
    ids=["nothing", "nonsense", "a beginning", "half of it"],
)
def test_what_cannot_be_read_says_so(body: bytes) -> None:
    assert "cannot be read" in read_log(body, 5).lines[0]


def test_long_lines_and_bytes_that_are_no_text() -> None:
    assert len(read_log(archive(journal_txt="x" * 9000), 1).lines[0]) == 4000


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
