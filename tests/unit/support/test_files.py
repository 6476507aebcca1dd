# SPDX-License-Identifier: Apache-2.0
"""Files of a bundle: taken within bounds, packed as a whole, and taken apart without trust."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.errors import MusterError
from muster.support.archive import as_file, pack, unpack
from muster.support.copying import FolderCopy
from muster.support.first_page import render_report
from muster.support.room import CUT, Kept, Room, load_pieces, write_pieces
from muster.support.secrets import clean_config

SECRET = "hunter2-and-more"


def save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_files_of_a_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    save(root / "etc/assisted/a.env", f"TOKEN={SECRET}\nIP=192.0.2.1\n")
    save(root / "etc/assisted/tokens/agent", SECRET)
    save(root / "etc/assisted/extra/s.yaml", f"kind: Secret\nstringData:\n  a: {SECRET}\n")
    save(root / "etc/assisted/binary", "a\0b")
    (root / "etc/assisted/link").symlink_to("/etc/shadow")
    os.mkfifo(root / "etc/assisted/pipe")
    copy = FolderCopy(root, tmp_path / "to", lambda text: clean_config(text, ()), Room())
    kept = copy.keep("etc/assisted", lambda: False)
    assert kept.left_out == ("etc/assisted/extra/s.yaml", "etc/assisted/tokens/agent")
    assert kept.missed == (
        ("etc/assisted/binary", "it is not text"),
        ("etc/assisted/link", "it is not a plain file"),
        ("etc/assisted/pipe", "it is not a plain file"),
    )
    written = [path for path in (tmp_path / "to").rglob("*") if path.is_file()]
    assert [path.name for path in written] == ["a.env"]
    assert written[0].read_text() == "TOKEN=••••\nIP=192.0.2.1\n"
    assert written[0].stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_not_there_or_takes_too_long(tmp_path: Path) -> None:
    save(tmp_path / "root/a/b", "text")
    copy = FolderCopy(tmp_path / "root", tmp_path / "to", str, Room())
    assert copy.keep("c", lambda: False) == Kept(missed=(("c", "it is not there"),))
    assert copy.keep("a", lambda: True).missed == (("a", "there was no time or no room for all of it"),)


def test_of_a_long_file_the_end_is_kept(tmp_path: Path) -> None:
    save(tmp_path / "root/a/log", "".join(f"line {number:07}\n" for number in range(700_000)))
    kept = FolderCopy(tmp_path / "root", tmp_path / "to", str, Room()).keep("a", lambda: False)
    assert kept.missed == (("a/log", "only its last 8192 KiB are here"),)
    text = (tmp_path / "to/a/log").read_text()
    assert (8 << 20) - 20 < len(text) <= 8 << 20
    assert text.startswith("line ")
    assert text.endswith("line 0699999\n")


def test_pieces_of_a_text_are_whole_lines(tmp_path: Path) -> None:
    lines = [f"line {number:07}\n" for number in range(60_000)]
    (tmp_path / "log").write_text("".join(lines))
    pieces = list(load_pieces(tmp_path / "log", is_cut=False))
    assert len(pieces) > 1
    assert all(piece.endswith("\n") for piece in pieces)
    assert "".join(pieces) == "".join(lines)
    assert "".join(load_pieces(tmp_path / "log", is_cut=True)) == "".join(lines[1:])


def test_an_archive(tmp_path: Path) -> None:
    save(tmp_path / "folder/b/c.txt", "text")
    archive = pack(tmp_path / "folder", tmp_path / "logs.tar.gz", "logs")
    assert archive.stat().st_mode & 0o777 == 0o600
    with tarfile.open(archive) as tar:
        (entry,) = tar.getmembers()
        assert (entry.name, entry.uid, entry.uname) == ("logs/b/c.txt", 0, "")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["logs.tar.gz"]


def test_an_archive_that_cannot_be_written(tmp_path: Path) -> None:
    save(tmp_path / "folder/a", "text")
    with pytest.raises(MusterError, match="cannot write"):
        pack(tmp_path / "folder", tmp_path / "nowhere/logs.tar.gz", "logs")


def test_the_report() -> None:
    kept = (Kept((("dmesg.txt", "it is\x1b gone"),)), Kept(left_out=("etc/assisted/tokens/agent",)))
    text = render_report("host h1 in cluster c1", kept)
    assert "host h1 in cluster c1" in text
    assert "  dmesg.txt: it is\\x1b gone\n" in text
    assert text.endswith("secrets may be in it:\n  etc/assisted/tokens/agent\n")
    assert "Nothing is missing." in render_report("a", ())


def test_what_has_no_room_is_cut_and_says_so(tmp_path: Path) -> None:
    room = Room(10)
    assert not write_pieces(tmp_path / "a", ("12345\n", "67890\n", "more\n"), room)
    assert (tmp_path / "a").read_text() == f"12345\n{CUT}"
    assert write_pieces(tmp_path / "b", ("1234",), room)
    assert room.is_full
    save(tmp_path / "root/a/b", "text")
    kept = FolderCopy(tmp_path / "root", tmp_path / "to", str, room).keep("a", lambda: False)
    assert kept.missed == (("a", "there was no time or no room for all of it"),)


def test_a_folder_has_a_bound_of_its_own(tmp_path: Path) -> None:
    for name in "abc":
        save(tmp_path / f"root/f/{name}", "12345\n")
    copy = FolderCopy(tmp_path / "root", tmp_path / "to", str, Room(), folder_bytes=10)
    assert copy.keep("f", lambda: False).missed == (("f", "there was no time or no room for all of it"),)
    assert sorted(path.name for path in (tmp_path / "to/f").iterdir()) == ["a", "b"]


def test_a_single_file(tmp_path: Path) -> None:
    save(tmp_path / "root/etc/hostname", "a\n")
    copy = FolderCopy(tmp_path / "root", tmp_path / "to", str, Room())
    assert copy.keep("etc/hostname", lambda: False) == Kept()
    assert (tmp_path / "to/etc/hostname").read_text() == "a\n"


def archive_of(*entries: tuple[str, bytes, bytes]) -> io.BytesIO:
    """Names, contents, and types."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, body, kind in entries:
            entry = tarfile.TarInfo(name)
            entry.size, entry.type, entry.linkname = len(body), kind, "/etc/shadow"
            tar.addfile(entry, io.BytesIO(body))
    packed.seek(0)
    return packed


def test_an_archive_that_is_not_to_be_trusted(tmp_path: Path) -> None:
    packed = archive_of(
        ("top/a.txt", b"password=x\n", tarfile.REGTYPE),
        ("top/../../out.txt", b"x", tarfile.REGTYPE),
        ("/etc/out.txt", b"x", tarfile.REGTYPE),
        ("top/link", b"", tarfile.SYMTYPE),
        ("top/hard", b"", tarfile.LNKTYPE),
        ("top/binary", b"a\0b", tarfile.REGTYPE),
        ("alone.txt", b"x", tarfile.REGTYPE),
        ("top/sub/b.txt", b"b", tarfile.REGTYPE),
    )
    kept = unpack(packed, tmp_path / "to", lambda text: text.replace("x", "-"), Room())
    found = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert found == ["to/a.txt", "to/sub/b.txt"]
    assert (tmp_path / "to/a.txt").read_text() == "password=-\n"
    assert dict(kept.missed) == {
        "top/../../out.txt": "it is not a plain file",
        "/etc/out.txt": "it is not a plain file",
        "top/link": "it is not a plain file",
        "top/hard": "it is not a plain file",
        "binary": "it is not text",
        "alone.txt": "it is not a plain file",
    }


def test_an_archive_that_breaks_off(tmp_path: Path) -> None:
    whole = archive_of(
        *((f"top/{number}", os.urandom(3000).hex().encode(), tarfile.REGTYPE) for number in range(9))
    )
    cut = io.BytesIO(whole.getvalue()[: len(whole.getvalue()) // 2])
    kept = unpack(cut, tmp_path / "to", str, Room())
    assert 0 < len(list((tmp_path / "to").iterdir())) < 9
    assert kept.missed[-1][1].startswith("it breaks off")
    assert unpack(io.BytesIO(b"ssh: no such thing"), tmp_path / "no", str, Room()).missed
    assert not (tmp_path / "no").exists()
    assert unpack(io.BytesIO(b""), tmp_path / "no", str, Room()).missed


def test_who_is_too_late_writes_nothing_more(tmp_path: Path) -> None:
    room = Room()

    def pieces() -> Iterator[str]:
        yield "in time\n"
        room.close()
        yield "too late\n"

    assert not write_pieces(tmp_path / "a", pieces(), room)
    assert (tmp_path / "a").read_text() == f"in time\n{CUT}"


def test_an_archive_that_unpacks_to_very_much_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.support.archive._MOST_UNPACKED", 1 << 20)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, size in (("logs/a", 100), ("logs/b", 2 << 20)):
            entry = tarfile.TarInfo(name)
            entry.size = size
            tar.addfile(entry, io.BytesIO(b"x" * size))
    packed.seek(0)
    kept = unpack(as_file(iter([packed.getvalue()])), tmp_path / "to", str, Room())
    assert (tmp_path / "to/a").read_text() == "x" * 100
    assert kept.missed == (("to", "it breaks off: it unpacks to more than 1 MiB"),)
