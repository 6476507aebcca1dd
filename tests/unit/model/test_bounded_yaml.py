# SPDX-License-Identifier: Apache-2.0
"""YAML from outside is loaded as PyYAML loads it, within bounds."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from muster.model.bounded_yaml import (
    MAX_COPIES,
    MAX_DEPTH,
    MAX_REQUEST_NODES,
    UNREADABLE,
    Exceeded,
    iter_documents,
    load_document,
    load_documents,
    load_request,
    reason_of,
)
from tests.counting import calls_in
from tests.mutations import YAML_PIECES, load_examples


def merge_bomb(levels: int) -> str:
    """Each level merges the one before nine times."""
    lines = ["a0: &a0 {k: 1}"]
    lines += [f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels + 1)]
    return "\n".join(lines)


def long_numbers() -> str:
    """Keys that have all the same hash value."""
    return "".join(f"{number * ((1 << 61) - 1)}: 1\n" for number in range(1, 40_000))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (merge_bomb(8), "its aliases stand for more than 100,000 values"),
        (merge_bomb(60), "its aliases stand for more than 100,000 values"),
        (
            "\n".join(["a0: &a0 [1]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]),
            "aliases",
        ),
        ("a: &a [*a]", "an alias stands inside of what it stands for"),
        ("a: &a {b: {<<: *a}}", "an alias stands inside of what it stands for"),
        ("[" * 100_000, "nested more than 200 levels"),
        ("- " * 100_000, "nested more than 200 levels"),
        ("\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [[[*a{n - 1}]]]" for n in range(1, 80))]), "nested more"),
        ("a: " + ":".join(["1"] * 500_000), "a number of more than 1000 digits"),
        ("a: !!int '" + ":".join(["1"] * 500_000) + "'", "a number of more than 1000 digits"),
        (long_numbers(), "more than 5000 numbers"),
        ("".join(f"%TAG !{n}! x\n" for n in range(70_000)) + "--- a\n", "more than 100 directives"),
        ("\u2028".join(f"%TAG !{n}! x" for n in range(70_000)), "more than 100 directives"),
    ],
    ids=range(13),
)
def test_what_would_take_too_long_is_refused(text: str, why: str) -> None:
    for given in (text, text.encode(), text.encode("utf-16")):
        with pytest.raises(Exceeded) as caught:
            load_documents(given)
        assert why in reason_of(caught.value)
        with pytest.raises(Exceeded):
            load_document(given)


def test_ordinary_aliases_and_merges_are_loaded() -> None:
    text = "base: &base {a: 1}\nother: {<<: *base, b: *base}\nlist: [*base, *base]\n"
    assert load_document(text) == yaml.safe_load(text)
    wide = "x: &x [" + "1," * 900 + "]\n" + "".join(f"k{n}: *x\n" for n in range(100))
    assert load_document(wide)["k99"] == [1] * 900
    assert MAX_COPIES > 100 * 901
    deep = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    assert load_documents(deep) == [yaml.safe_load(deep)]


def test_documents_before_a_fault_are_found() -> None:
    found = iter_documents("a: 1\n---\nb: 2\n---\nc: [\n")
    assert [next(found), next(found)] == [{"a": 1}, {"b": 2}]
    with pytest.raises(yaml.YAMLError):
        next(found)


def test_a_reason_has_a_line_and_no_secret() -> None:
    with pytest.raises(yaml.YAMLError) as caught:
        load_documents("a: 1\npassword: *hunter2\n")
    assert reason_of(caught.value).startswith("line 2: it is not YAML: ")
    assert "hunter2" not in reason_of(caught.value)
    with pytest.raises(KeyError) as other:
        load_documents("a: !!bool maybe")
    assert reason_of(other.value) == "it is not YAML: a value is not what its tag says"


def test_it_loads_what_pyyaml_loads() -> None:
    texts = [
        text for files in load_examples().values() for name, text in files.items() if name.endswith("yaml")
    ]
    rng = random.Random(5)
    texts += ["".join(rng.choices(YAML_PIECES, k=rng.randrange(1, 12))) for _ in range(3000)]
    for text in texts:
        try:
            expected = repr(list(yaml.load_all(text, yaml.CSafeLoader)))
        except UNREADABLE:
            with pytest.raises(UNREADABLE):
                load_documents(text)
            continue
        found = _load(text)
        assert found == expected or "stands inside" in found, text


def _load(text: str) -> str:
    try:
        return repr(load_documents(text))
    except Exceeded as error:
        return reason_of(error)


@pytest.mark.parametrize("example", range(200))
def test_a_text_of_a_request_is_loaded_as_any_other(example: int) -> None:
    rng = random.Random(example)
    text = "".join(rng.choices(YAML_PIECES, k=rng.randrange(1, 30)))

    def load(how: Callable[[str], list[Any]]) -> tuple[type | None, Any]:
        try:
            return None, how(text)
        except UNREADABLE as error:
            return type(error), getattr(getattr(error, "problem_mark", None), "line", None)

    assert load(load_request) == load(load_documents)


def test_a_text_of_a_request_lets_other_threads_run() -> None:
    """Nodes that are made in C keep the interpreter until the last one is made."""
    text = "- [[a, b], {c: d}]\n" * 200
    assert calls_in(lambda: load_request(text)) > calls_in(lambda: load_documents(text)) + 200 * 8


def test_a_text_of_a_request_has_fewer_values() -> None:
    crd = "apiVersion: v1\nspec:\n" + "  key-of-a-property: {type: string}\n" * 30_000
    assert len(crd) > 1 << 20
    assert load_request(crd)
    with pytest.raises(Exceeded, match=f"more than {MAX_REQUEST_NODES:,} values"):
        load_request("- - -\n" * 100_000)
