# SPDX-License-Identifier: Apache-2.0
"""What names a base image, and what of it may be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.errors import UserError
from muster.image.source import Source, parse_sha256, parse_source, shown_url

HASH = "ab" * 32


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("base.iso", Source("", "base.iso", "base.iso")),
        ("/a b/base.iso", Source("", "/a b/base.iso", "/a b/base.iso")),
        (f"a?b.iso?sha256={HASH}", Source("", "a?b.iso", "a?b.iso", HASH)),
        (f"file:///x.iso?sha256={HASH}", Source("file", "/x.iso", "file:///x.iso", HASH)),
        ("HTTPS://h/x.iso", Source("https", "https://h/x.iso", "https://h/x.iso")),
        ("http://h", Source("http", "http://h/", "http://h/")),
        (f"http://h/x?sha256={HASH.upper()}", Source("http", "http://h/x", "http://h/x", HASH)),
        (f"http://h/x?a=1&sha256={HASH}&b", Source("http", "http://h/x?a=1&b", "http://h/x?…", HASH)),
        ("http://h/ä%20b#part", Source("http", "http://h/%C3%A4%20b", "http://h/%C3%A4%20b")),
        ("http://u:p@h:8/x@2.iso", Source("http", "http://u:p@h:8/x@2.iso", "http://h:8/x@2.iso")),
        ("http://[::1]:8/x", Source("http", "http://[::1]:8/x", "http://[::1]:8/x")),
        ("oci://joe:pw@quay.io/x", Source("oci", "joe:pw@quay.io/x", "oci://quay.io/x")),
    ],
)
def test_sources(text: str, source: Source) -> None:
    assert parse_source(text) == source


def test_the_name_of_a_file() -> None:
    assert parse_source("http://h/a/live%20x.iso?token=1").name == "live x.iso"
    assert parse_source("dir/base.iso").name == "base.iso"


@pytest.mark.parametrize(
    "text", ["http://joe:hun/ter2@h/x", "http://joe:hunter2@h:port/x", "http://joe:hunter2@/x"]
)
def test_a_url_that_is_none_keeps_its_secret(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_source(text)
    assert "hun" not in caught.value.message + caught.value.hint


WORD = st.text("abcXYZ019-_~%:@/&=+", min_size=6, max_size=12).map(lambda text: f"s3{text}cr")


@given(user=WORD, query=WORD)
def test_nothing_secret_is_shown(user: str, query: str) -> None:
    shown = shown_url(f"https://{user.replace('/', '')}:pw@host/path?sig={query}#{query}")
    assert shown == "https://host/path?…"


@pytest.mark.parametrize("text", ["", "x" * 64, "ab" * 31, f"sha512:{HASH}"])
def test_what_is_no_hash(text: str) -> None:
    with pytest.raises(UserError, match="is not a SHA-256"):
        parse_sha256(text)


def test_a_hash_and_its_prefix() -> None:
    assert parse_sha256(f" sha256:{HASH.upper()}\n") == HASH
    assert parse_source(f"http://h/x?sha256={HASH}", f"sha256:{HASH}").sha256 == HASH
