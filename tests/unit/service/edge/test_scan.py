# SPDX-License-Identifier: Apache-2.0
"""The look at JSON before it is decoded agrees with what a decoder finds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.service.edge.limits import KIB, LIMITS, Limit, check_json
from muster.service.edge.scan import has_text_over, is_deeper_than

TEXTS = st.text(st.sampled_from('ab"\\[]{}:,ü \n'), max_size=20)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=30,
)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


def longest(value: Any) -> int:
    if isinstance(value, str):
        return len(json.dumps(value)) - 2
    if isinstance(value, dict):
        return max((max(longest(name), longest(each)) for name, each in value.items()), default=0)
    return max(map(longest, value), default=0) if isinstance(value, list) else 0


@given(VALUES, st.integers(0, 8), st.sampled_from([None, 2]))
def test_depth(value: Any, depth: int, indent: int | None) -> None:
    assert is_deeper_than(json.dumps(value, indent=indent).encode(), depth) == (depth_of(value) > depth)


@given(VALUES, st.integers(0, 12))
def test_longest_text(value: Any, length: int) -> None:
    assert has_text_over(json.dumps(value).encode(), length) == (longest(value) > length)


@given(VALUES, st.integers(0, 3))
def test_json_in_texts_counts_as_text(value: Any, depth: int) -> None:
    inner = json.dumps(json.dumps(value))
    assert not is_deeper_than(inner.encode(), depth)


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b'{"a":' * 100_000, b"]" * 9 + b"[" * 9, b"[" * 200 + b"]" * 200]
)
def test_bombs(data: bytes) -> None:
    assert is_deeper_than(data, 8)


@given(st.binary())
def test_garbage_is_for_the_decoder(data: bytes) -> None:
    assert not is_deeper_than(data, len(data))
    assert not has_text_over(data, len(data))


def test_refusals_say_which_limit() -> None:
    limit = Limit(LIMITS[-1].path, 4 * KIB, 10)
    assert check_json(b'{"a": "0123456789"}', limit, 2) is None
    assert check_json(b'{"a": "01234567890"}', limit, 2) == (
        413,
        "a text in the body is longer than 10 bytes",
    )
    assert (check_json(b"[[[]]]", limit, 2) or (0,))[0] == 400
