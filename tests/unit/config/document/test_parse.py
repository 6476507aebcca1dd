# SPDX-License-Identifier: Apache-2.0
"""Text → tree."""

from __future__ import annotations

import pytest

from muster.config.document.parse import parse_yaml
from muster.config.document.slips import MAX_DEPTH
from muster.model.tree import Map, Node, Scalar, Sequence, Source, find, to_plain


def parse(text: str) -> Node:
    documents, problems = parse_yaml(Source("f.yaml", text))
    assert not problems
    return documents[0]


def problems_of(text: str) -> list[tuple[str, str]]:
    _, problems = parse_yaml(Source("f.yaml", text))
    return [(problem.rule.slug, str(problem.place)) for problem in problems]


@pytest.mark.parametrize("word", ["no", "on", "4.10", "0123", "1:30", "2026-01-01", "0x1f", "1_000", ".inf"])
def test_scalars_stay_as_they_were_written(word: str) -> None:
    node = find(parse(f"a: {word}\n"), ("a",))
    assert isinstance(node, Scalar)
    assert node.text == word
    assert node.plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True), ("no", "no"), ("42", 42), ("-1", -1), ("0123", "0123"), ("4.10", 4.1),
        ("1e999", "1e999"), ("~", None), ("''", ""), ('"42"', "42"), ("1:30", "1:30"), ("!!str 42", "42"),
        ("9" * 30, float("9" * 30)),
    ],
)  # fmt: skip
def test_free_form_parts_follow_the_core_schema(text: str, expected: object) -> None:
    assert to_plain(parse(f"a: {text}\n")) == {"a": expected}


def test_places_are_characters_not_bytes() -> None:
    node = find(parse("a: é€\nb: {c: [x, €y]}\n"), ("b", "c", 1))
    assert isinstance(node, Scalar)
    assert node.source.position(node.start) == (2, 12)
    assert node.source.text[node.start : node.end] == "€y"


def test_an_anchor_is_not_part_of_its_value() -> None:
    node = find(parse("a: &name value\n"), ("a",))
    assert isinstance(node, Scalar)
    assert node.source.text[node.start : node.end] == "value"


def test_aliases_stand_at_their_own_place() -> None:
    root = parse("a: &x {k: v}\nb: *x\n")
    b = find(root, ("b",))
    assert isinstance(b, Map)
    assert b.source.position(b.start) == (2, 4)
    assert b.key is not None
    assert b.key.text == "b"
    assert to_plain(root) == {"a": {"k": "v"}, "b": {"k": "v"}}


def test_merge_keys_give_what_is_not_said() -> None:
    assert to_plain(parse("d: &d {x: 1, y: 2}\ne:\n  <<: *d\n  y: 3\n")) == {
        "d": {"x": 1, "y": 2},
        "e": {"x": 1, "y": 3},
    }


def test_several_documents() -> None:
    documents, _ = parse_yaml(Source("f", "a: 1\n---\nb: 2\n"))
    assert [to_plain(document) for document in documents] == [{"a": 1}, {"b": 2}]


def test_lists_and_crlf() -> None:
    root = parse("a:\r\n- x\r\n- y\r\n")
    assert to_plain(root) == {"a": ["x", "y"]}
    items = find(root, ("a",))
    assert isinstance(items, Sequence)
    assert items.items[1].source.line(3) == "- y"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\na: 2\n", [("duplicate-key", "f.yaml:2:1")]),
        ("? [a]\n: b\n", [("non-string-key", "f.yaml:1:3")]),
        ("a: *x\n", [("unknown-alias", "f.yaml:1:4")]),
        ("a: &x\n  b: *x\n", [("recursive-alias", "f.yaml:2:6")]),
        ("a: !!python/object:os.system x\n", [("unknown-tag", "f.yaml:1:4")]),
        ("a: b: c\n", [("yaml-syntax", "f.yaml:1:5")]),
        ("a: 'x\n", [("yaml-syntax", "f.yaml:1:4")]),
        ("a: 1\nb 2\n\n# c\nd: 3\n", [("yaml-syntax", "f.yaml:2:1")]),
        ("a:\n- b: 1\n  c\n  - d: 2\n", [("yaml-syntax", "f.yaml:3:3")]),
        ("a:\n  b\n    c: 1\n", [("yaml-syntax", "f.yaml:2:3")]),
        ("a:\n- b\n   c: 1\n", [("yaml-syntax", "f.yaml:3:5")]),
        ("a: x\n  b: y\n", [("yaml-syntax", "f.yaml:2:4")]),
        ("a: \x07\n", [("bad-character", "f.yaml:1:4")]),
        ("a:\n\t- b\n", [("tab-indent", "f.yaml:2:1")]),
        ("k: {<<: 1}\n", [("bad-merge", "f.yaml:1:9")]),
        (
            "p: ''{ \"x\": 1 }''\nq: 1\nq: 2\n",
            [("doubled-quotes", "f.yaml:1:4"), ("duplicate-key", "f.yaml:3:1")],
        ),
    ],
)
def test_problems(text: str, expected: list[tuple[str, str]]) -> None:
    assert problems_of(text) == expected


def test_tabs_inside_values_are_fine() -> None:
    assert problems_of("a: |\n  x\n  \ty\nb: 'c\td'\n") == []


def test_an_alias_bomb_is_stopped() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert [slug for slug, _ in problems_of("\n".join(lines))] == ["alias-bomb"]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_depth_is_limited(opening: str) -> None:
    assert [slug for slug, _ in problems_of(opening * 20_000)] == ["too-deep"]
    assert MAX_DEPTH < 200
