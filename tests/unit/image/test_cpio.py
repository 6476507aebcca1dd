# SPDX-License-Identifier: Apache-2.0
"""Archives for the initial RAM disk."""

from __future__ import annotations

import contextlib
import gzip
import lzma
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.errors import MediaError
from muster.image.compression import compress, decompress
from muster.image.cpio import Member, is_plain_directory, parse_archives, render_archive

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=8)
PATHS = st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(PATHS, st.binary(max_size=40), max_size=5)


def has_folder_that_is_a_file(files: dict[str, bytes]) -> bool:
    return any(other.startswith(f"{path}/") for path in files for other in files)


@given(FILES.filter(lambda files: not has_folder_that_is_a_file(files)), st.booleans())
def test_what_is_written_is_read(files: dict[str, bytes], packed: bool) -> None:
    archive = render_archive(Member(path, data) for path, data in reversed(files.items()))
    found = parse_archives(compress(archive) if packed else archive, "it")
    assert {member.path: member.data for member in found if not is_plain_directory(member)} == files
    seen: set[str] = set()
    for member in found:
        assert member.path.rpartition("/")[0] in {"", *seen}, "parents come first"
        seen.add(member.path)


def test_an_archive_is_the_same_each_time() -> None:
    members = [Member("b/c", b"1"), Member("a", b"2"), Member("b", b"", 0o40700)]
    archive = render_archive(members)
    assert archive == render_archive(reversed(members))
    assert [(m.path, oct(m.mode)) for m in parse_archives(archive, "it")] == [
        ("a", "0o100600"),
        ("b", "0o40700"),
        ("b/c", "0o100600"),
    ]
    assert archive.startswith(
        b"070701" + b"00000000" + b"00008180" + b"00000000" * 2 + b"00000001" + b"00000000"
    )


def test_concatenated_archives_are_one_and_the_last_wins() -> None:
    one = render_archive([Member("f", b"one"), Member("g", b"g")])
    two = render_archive([Member("f", b"two")])
    for data in (
        one + two,
        one + bytes(512) + gzip.compress(two + bytes(100)),
        lzma.compress(one) + bytes(3) + two + bytes(9),
        gzip.compress(one) + lzma.compress(two),
    ):
        assert {m.path: m.data for m in parse_archives(data, "it")} == {"f": b"two", "g": b"g"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"garbage", "not a cpio"),
        (render_archive([Member("f", b"x")])[:-20], "not a cpio"),
        (render_archive([Member("f", b"x" * 500)])[:200], "ends in the middle"),
        (b"070701" + b"zz" * 52 + b"f\0", "broken header"),
        (b"070701" + b" 1234567" * 13 + b"f\0", "broken header"),
        (b"070701" + b"00000000" * 13, "ends in the middle"),
        (compress(render_archive([])) + b"garbage", "not a cpio"),
        (compress(render_archive([]) + b"garbage"), "garbage behind"),
        (compress(render_archive([]))[:-5], "ends in the middle"),
        (gzip.compress(render_archive([]), mtime=0)[:-9], "ends in the middle"),
        (b"\xfd7zXZ\0 and nonsense", "cannot be unpacked"),
        (b"\x1f\x8b and nonsense", "cannot be unpacked"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (render_archive([]) * 1001, "more than 1000 archives"),
    ],
)
def test_what_is_no_archive_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(MediaError, match=said):
        parse_archives(data, "it")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_bomb_does_not_go_off(pack: type) -> None:
    bomb = pack(bytes(32 << 20))
    tracemalloc.start()
    with pytest.raises(MediaError, match="more than 1048576 bytes"):
        parse_archives(bomb, "it", limit=1 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


def test_the_limit_is_that_of_all_archives() -> None:
    archive = compress(render_archive([Member("f", bytes(6000))]))
    assert parse_archives(archive, "it", limit=10000)
    with pytest.raises(MediaError, match="more than"):
        parse_archives(archive * 2, "it", limit=10000)


@pytest.mark.parametrize("path", ["", "/abs", "a//b", "../up", "a/./b", "nul\0", "TRAILER!!!"])
def test_paths_that_would_harm_are_refused(path: str) -> None:
    with pytest.raises(MediaError, match="not a path"):
        render_archive([Member(path, b"")])


def test_names_that_clash_are_refused() -> None:
    with pytest.raises(MediaError, match="twice"):
        render_archive([Member("f", b"1"), Member("f", b"2")])
    with pytest.raises(MediaError, match="f is a file, and a folder of f/g"):
        render_archive([Member("f", b"1"), Member("f/g", b"2")])


def test_packing_suits_the_kernel_and_needs_little_memory() -> None:
    data = b"some text, again and again, " * 3000
    packed = compress(data)
    assert packed[7] == lzma.CHECK_CRC32
    # The dictionary size is in the block header: 2 to the power of 17 holds the 84,000 bytes.
    assert packed[12 + 4] <= 10
    assert decompress(packed + b"rest", limit=1 << 20, what="it") == (data, b"rest")


@given(st.binary(max_size=300))
def test_garbage_never_crashes(data: bytes) -> None:
    for start in (b"", b"070701", b"\x1f\x8b\x08", b"\xfd7zXZ\0", render_archive([])[:-4]):
        with contextlib.suppress(MediaError):
            parse_archives(start + data, "it")
