# SPDX-License-Identifier: Apache-2.0
"""A line that somebody edits."""

from __future__ import annotations

import pytest

from muster.console.editing import Edited, begin, edit, render_edited


def typed(start: str, *keys: str) -> Edited:
    line = begin(start)
    for key in keys:
        found = edit(line, key, key if len(key) == 1 else "")
        assert found is not None, key
        line = found
    return line


@pytest.mark.parametrize(
    ("start", "keys", "end"),
    [
        ("", [*"192.0.2.1"], Edited("192.0.2.1", 9)),
        ("dhcp", ["backspace"] * 6 + ["o", "f", "f"], Edited("off", 3)),
        ("bc", ["home", "a", "end", "d"], Edited("abcd", 4)),
        ("abc", ["left", "left", "delete", "left", "left"], Edited("ac", 0)),
        ("abc", ["right", "delete"], Edited("abc", 3)),
        ("abc", ["left", "ctrl+u", "x"], Edited("xc", 1)),
        ("abc", ["ctrl+a", "backspace", "ctrl+e"], Edited("abc", 3)),
    ],
)
def test_keys(start: str, keys: list[str], end: Edited) -> None:
    assert typed(start, *keys) == end


def test_other_keys_are_not_for_it() -> None:
    assert edit(begin("a"), "f5", "") is None
    assert edit(begin("a"), "ctrl+b", "\x02") is None


def test_nobody_types_for_ever() -> None:
    assert len(typed("", *["x"] * 300).text) == 200


def test_one_sees_where_one_is() -> None:
    assert render_edited(begin("abc"), 10) == "abc|"
    assert render_edited(Edited("abc", 1), 10) == "a|bc"
    long = "0123456789" * 3
    for cursor in range(31):
        shown = render_edited(Edited(long, cursor), 12)
        assert len(shown) == 12
        assert "|" in shown
