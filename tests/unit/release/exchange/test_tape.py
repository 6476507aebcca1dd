# SPDX-License-Identifier: Apache-2.0
"""Tar archives of honest programs are read, and those of dishonest people are refused, with the reason."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable

import pytest

from muster.errors import MediaError
from muster.release.store.exchange import tape
from muster.release.store.exchange.tape import Kind, Member, read_members

DEEP = "/".join(["folder"] * 25) + "/file"


def entry(name: str, data: bytes = b"", **more: object) -> tuple[tarfile.TarInfo, bytes]:
    made = tarfile.TarInfo(name)
    made.size = len(data)
    for key, value in more.items():
        setattr(made, key, value)
    return made, data


def archive(*entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as file:
        for made, data in entries:
            file.addfile(made, io.BytesIO(data))
    return out.getvalue()


def read(data: bytes) -> list[Member]:
    return list(read_members(lambda offset, count: data[offset : offset + count], len(data), "a.tar"))


def forge(data: bytes, change: Callable[[bytearray], None]) -> bytes:
    """Change the first header, and its checksum with it."""
    made = bytearray(data)
    change(made)
    made[148:156] = b" " * 8
    made[148:156] = b"%06o\0 " % sum(made[:512])
    return bytes(made)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_dialect_is_read(form: int) -> None:
    link = entry("a/link", type=tarfile.SYMTYPE, linkname="../b")
    hard = entry("a/hard", type=tarfile.LNKTYPE, linkname="./b")
    folder = entry("./a", type=tarfile.DIRTYPE)
    data = archive(folder, entry("b", b"12345"), entry(DEEP, b"x" * 513), link, hard, form=form)
    members = read(data)
    assert [(each.name, each.kind, each.target) for each in members] == [
        ("a", Kind.FOLDER, ""),
        ("b", Kind.FILE, ""),
        (DEEP, Kind.FILE, ""),
        ("a/link", Kind.LINK, "b"),
        ("a/hard", Kind.LINK, "b"),
    ]
    deep = members[2]
    assert data[deep.offset : deep.offset + deep.size_bytes] == b"x" * 513


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_links_are_read(form: int) -> None:
    name, target = "n" * 300, "t" * 300
    data = archive(
        entry(name, b"1"), entry("l", type=tarfile.SYMTYPE, linkname=target), entry("z", b"2"), form=form
    )
    assert [(each.name, each.target) for each in read(data)] == [(name, ""), ("l", target), ("z", "")]


def test_a_name_in_no_known_encoding() -> None:
    data = forge(archive(entry("xx", b"")), lambda header: header.__setitem__(slice(0, 2), b"\xff\xfe"))
    assert read(data)[0].name == "\udcff\udcfe"


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (entry("/etc/passwd", b"x"), "the name /etc/passwd leads out of it"),
        (entry("a/../../b", b"x"), "leads out of it"),
        (entry("..", type=tarfile.DIRTYPE), "leads out of it"),
        (entry("l", type=tarfile.SYMTYPE, linkname="/etc/shadow"), "the link l leads out of it"),
        (entry("a/l", type=tarfile.SYMTYPE, linkname="../../x"), "the link a/l leads out of it"),
        (entry("l", type=tarfile.LNKTYPE, linkname="../x"), "the link l leads out of it"),
        (entry("d", type=tarfile.CHRTYPE, devmajor=1, devminor=5), "d is a device"),
        (entry("d", type=tarfile.BLKTYPE), "d is a device"),
        (entry("p", type=tarfile.FIFOTYPE), "p is a pipe"),
        (entry("s", type=b"S"), "s is a sparse file"),
        (entry("s", pax_headers={"GNU.sparse.major": "1"}), "s is a sparse file"),
        (entry("q", type=b"Q"), "q is of an unknown kind b'Q'"),
        (entry("big", pax_headers={"size": "99999999999"}), "big says that it has 99999999999 bytes, and"),
        (entry("big", pax_headers={"size": "-1"}), "it has the size b'-1'"),
        (entry("a", pax_headers={"comment": "x" * (2 << 20)}), "it has a header of 20971"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_refused(made: tuple[tarfile.TarInfo, bytes], why: str) -> None:
    data = archive(entry("good", b"1"), made)
    with pytest.raises(MediaError, match=r"the archive a\.tar is refused at byte [0-9]+: ") as caught:
        read(data)
    assert why in caught.value.message


@pytest.mark.parametrize(
    ("size", "why"),
    [
        (b"\x80" + b"\0" * 3 + b"\1" + b"\0" * 7, "says that it has 72057594037927936 bytes"),
        (b"\xff" * 12, "it has the size"),
        (b"9" * 12, "it has the size"),
    ],
)
def test_sizes_that_lie(size: bytes, why: str) -> None:
    data = forge(archive(entry("file", b"x")), lambda header: header.__setitem__(slice(124, 136), size))
    with pytest.raises(MediaError) as caught:
        read(data)
    assert why in caught.value.message


@pytest.mark.parametrize("record", [b"99 path=x\n", b"0 a=b\n", b"no record", b"11 path=abc", b"6 =\n"])
def test_damaged_extended_headers(record: bytes) -> None:
    made = tarfile.TarInfo("x")
    made.type, made.size = tarfile.XHDTYPE, len(record)
    data = made.tobuf(tarfile.USTAR_FORMAT) + record.ljust(512, b"\0") + archive(entry("a", b"1"))
    with pytest.raises(MediaError, match="damaged extended header"):
        read(data)


@pytest.mark.parametrize("data", [b"", b"short", b"<html>" * 100, b"\x7fELF" + bytes(1000)])
def test_what_is_no_archive(data: bytes) -> None:
    with pytest.raises(MediaError, match=r"a\.tar is not a tar archive"):
        read(data)


def test_an_archive_that_was_cut_off() -> None:
    data = archive(entry("a", b"1"), entry("b", b"x" * 2000))
    for end in (1024 + 100, 1024 + 512 + 1999):
        with pytest.raises(MediaError, match="is refused at byte"):
            read(data[:end])
    assert len(read(data[: 1024 + 512 + 2048])) == 2, "the end mark alone may be missing"


def test_too_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape, "_MOST_MEMBERS", 10)
    with pytest.raises(MediaError, match="more than 10 entries"):
        read(archive(*(entry(f"f{number}") for number in range(11))))
