# SPDX-License-Identifier: Apache-2.0
"""Small ISO images for configuration."""

from __future__ import annotations

import re
import stat
import struct
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.errors import MediaError
from muster.image.iso.writer import render_iso
from tests.media import WHEN, volume

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=20).filter(
    lambda name: name not in (".", "..")
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
FILES = st.dictionaries(PATHS, st.binary(max_size=5000), max_size=40).filter(
    lambda files: not any(other.startswith(f"{path}/") for path in files for other in files)
)


def read(data: bytes) -> dict[str, bytes]:
    found = volume(data)
    return {file.path: found.read(file.offset, file.length) if file.length else b"" for file in found.walk()}


@settings(deadline=None)
@given(FILES)
def test_what_is_written_is_read(files: dict[str, bytes]) -> None:
    data = render_iso(files, label="config-2", when=WHEN)
    assert read(data) == files
    assert volume(data).label == "config-2"
    assert volume(data).size_bytes == len(data)


def test_an_image_is_the_same_each_time() -> None:
    files = {"b/c.yaml": b"1", "a": b"2"}
    one = render_iso(files, label="L", when=WHEN)
    other = render_iso(
        dict(reversed(files.items())), label="L", when=WHEN.astimezone(timezone(timedelta(hours=2)))
    )
    assert one == other
    assert one != render_iso(files, label="L", when=datetime(2026, 1, 2, tzinfo=UTC))


def test_folders_of_many_files_fill_several_sectors() -> None:
    files = {f"d/a-rather-long-name-number-{n}.txt": b"%d" % n for n in range(500)}
    assert read(render_iso(files, label="L", when=WHEN)) == files


def test_short_names_are_unique() -> None:
    files = {f"{name}{number}.json": b"" for name in ("a-long-name-", "a_LONG+name=") for number in range(60)}
    data = render_iso(files, label="L", when=WHEN).replace(b"SP\x07\x01\xbe\xef", b"XX\x07\x01\xbe\xef")
    names = [file.path for file in volume(data).walk()]
    assert len(set(names)) == 120
    assert all(len(name) <= 12 and name.endswith(".JSO") for name in names)
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"": b""}, "not a path"),
        ({"/a": b""}, "not a path"),
        ({"a/../b": b""}, "not a path"),
        ({"a\0": b""}, "not a path"),
        ({"x" * 131: b""}, "not a path"),
        ({"a": b"", "a/b": b""}, "a is a file and a folder"),
        ({"1/2/3/4/5/6/7/8/9": b""}, "more than 8 folders deep"),
    ],
)
def test_what_cannot_be_is_refused(files: dict[str, bytes], said: str) -> None:
    with pytest.raises(MediaError, match=said):
        render_iso(files, label="L", when=WHEN)


@pytest.mark.parametrize("label", ["", "x" * 33, "a b", "ü", "a/b"])
def test_labels_that_cannot_be(label: str) -> None:
    with pytest.raises(MediaError, match="cannot be the label"):
        render_iso({}, label=label, when=WHEN)


def test_files_are_for_root_alone() -> None:
    data = render_iso({"d/kubeconfig": b"secret", "a": b""}, label="L", when=WHEN)
    modes = {struct.unpack("<I", mode)[0] for mode in re.findall(rb"PX\x24\x01(.{4})", data, re.DOTALL)}
    assert modes == {stat.S_IFDIR | 0o700, stat.S_IFREG | 0o600}
