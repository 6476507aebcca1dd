# SPDX-License-Identifier: Apache-2.0
"""Kernel arguments: text, end mark, padding; and editing as coreos-installer does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.errors import MediaError, UserError
from muster.image.coreos.kargs import Edit, decode_kargs, edit_kargs, encode_kargs

WORDS = st.text("ab=,.#", min_size=1, max_size=6)


@given(st.lists(WORDS, max_size=6).map(" ".join), st.sampled_from(["#\n", "\0\0", "  "]))
def test_what_is_encoded_is_decoded(kargs: str, marks: str) -> None:
    pad, end = marks[0], marks[1]
    data = encode_kargs(kargs, 64, pad=pad, end=end)
    assert len(data) == 64
    assert decode_kargs(data, pad=pad, end=end) == kargs


def test_the_longest_text_still_has_its_end() -> None:
    assert encode_kargs("abc", 4) == b"abc\n"
    with pytest.raises(MediaError, match="have 4 bytes; the image has room for 3"):
        encode_kargs("abcd", 4)
    with pytest.raises(MediaError, match="have 4 bytes"):
        encode_kargs("ää", 4)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(MediaError, match="the area is not text"):
        decode_kargs(b"\xff\xfe", what="the area")


# The cases of coreos-installer's own test_apply_to.
@pytest.mark.parametrize(
    ("kargs", "edit", "expected"),
    [
        ("foo bar foobar", Edit(delete=["foo"]), "bar foobar"),
        ("foo bar foobar", Edit(delete=["bar"]), "foo foobar"),
        ("foo bar foobar", Edit(delete=["foobar"]), "foo bar"),
        ("foo bar foobar", Edit(delete=["foo bar"]), "foobar"),
        ("foo bar foobar", Edit(delete=["bar", "foo"]), "foobar"),
        ("foo=val bar baz=val", Edit(delete=["   foo=val"]), "bar baz=val"),
        ("foo=val bar baz=val", Edit(delete=["baz=val  "]), "foo=val bar"),
        (
            "foo mitigations=auto,nosmt console=tty0 bar console=ttyS0,115200n8 baz",
            Edit(
                delete=["mitigations=auto,nosmt", "console=ttyS0,115200n8"],
                append=["console=ttyS1,115200n8  "],
                append_if_missing=["bar", "console=ttyS1,115200n8", "boo"],
            ),
            "foo console=tty0 bar baz console=ttyS1,115200n8 boo",
        ),
        (
            "foo mitigations=auto,nosmt console=ttyS0 baz",
            Edit(replace=["mitigations=auto,nosmt=auto"], delete=["console=ttyS0"]),
            "foo mitigations=auto baz",
        ),
        ("a a b", Edit(delete=["a"]), "b"),
        ("", Edit(append=["x"]), "x"),
    ],
)
def test_edit(kargs: str, edit: Edit, expected: str) -> None:
    assert edit_kargs(kargs, edit) == expected


@pytest.mark.parametrize("words", ["", " ", "a\nb", "a\0"])
def test_what_would_break_the_boot_loader_is_refused(words: str) -> None:
    with pytest.raises(UserError, match="cannot be a kernel argument"):
        edit_kargs("x", Edit(append=[words]))


@pytest.mark.parametrize("words", ["a", "a=b", "a=b=c=d", "=b=c", "a==c"])
def test_a_replacement_has_three_parts(words: str) -> None:
    with pytest.raises(UserError, match="does not say what to replace"):
        edit_kargs("x", Edit(replace=[words]))
