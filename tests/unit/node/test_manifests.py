# SPDX-License-Identifier: Apache-2.0
"""YAML → objects: what is read as what, what is an object, and what is none."""

from __future__ import annotations

import json

import pytest

from muster.node.manifests import Fault, Manifest, parse_manifests


def titles(text: str) -> list[str]:
    return [
        found.words if isinstance(found, Fault) else f"{found.api_version} {found.namespace}/{found.title}"
        for found in parse_manifests(text.encode())
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-03-01", "2026-03-01"),
        ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"),
        ("22:80", "22:80"),
        ("1:30.5", "1:30.5"),
        ("0644", 420),
        ("0o644", 420),
        ("0x1F", 31),
        ("-3", -3),
        ("1_000", 1000),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("yes", True),
        ("y", "y"),
        ("v1.2.3", "v1.2.3"),
        ("1.2.3", "1.2.3"),
        ("~", None),
        ("!!binary aGVsbG8=", "aGVsbG8="),
        ("{1: a, true: b, ~: c, 1.5: d}", {"1": "a", "true": "b", "null": "c", "1.5": "d"}),
        ("{<<: {a: 1, b: 2}, b: 3}", {"a": 1, "b": 3}),
        ("&x {a: 1}", {"a": 1}),
    ],
)
def test_values_are_read_as_kubectl_reads_them(text: str, value: object) -> None:
    (found,) = parse_manifests(f"apiVersion: v1\nkind: A\nmetadata: {{name: a}}\nvalue: {text}".encode())
    assert isinstance(found, Manifest)
    assert json.loads(found.body)["value"] == value


def test_documents_and_lists_are_flat() -> None:
    text = """\
# nothing
---
apiVersion: v1
kind: A
metadata: {name: one}
---
---
apiVersion: v1
kind: List
items:
- {apiVersion: g/v2, kind: B, metadata: {name: two, namespace: x}}
- apiVersion: g/v1
  kind: CList
  items: [{metadata: {name: three}}, {kind: D, metadata: {name: four}}, 3]
---
{apiVersion: v1, kind: List}
---
{apiVersion: v1, kind: AllowList, metadata: {name: five}}
"""
    assert titles(text) == [
        "v1 /A/one",
        "g/v2 x/B/two",
        "g/v1 /C/three",
        "g/v1 /D/four",
        "document 3, item 2, item 3 is no object with apiVersion and kind",
        "v1 /AllowList/five",
    ]


def test_json_is_read_that_libyaml_does_not_read() -> None:
    text = '{"apiVersion": "v1", "kind": "A",\n\t"metadata": {"name": "a"}, "x": "\\ud83d\\ude00"}'
    assert titles(text) == ["v1 /A/a"]
    assert titles("{apiVersion: v1, kind: A, metadata: {name: a}}") == ["v1 /A/a"]
    assert titles("") == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1", "document 1 is no object with apiVersion and kind"),
        ("{kind: A, metadata: {name: x}}", "document 1 is no object with apiVersion and kind"),
        ("{apiVersion: 1, kind: A}", "document 1 is no object with apiVersion and kind"),
        ("{apiVersion: v1, kind: ''}", "document 1 is no object with apiVersion and kind"),
        ("{apiVersion: v1, kind: A}", "A has no metadata.name; "),
        ("{apiVersion: v1, kind: A, metadata: {generateName: x-}}", "A has no metadata.name; "),
        ("{apiVersion: v1, kind: A, metadata: {name: 7}}", "A has no metadata.name; "),
        ("{apiVersion: v1, kind: A, metadata: {name: ..}}", "A has a name or namespace that no object can"),
        ("{apiVersion: v1, kind: A, metadata: {name: a/b}}", "A has a name or namespace that no object can"),
        ("{apiVersion: v1, kind: A, metadata: {name: a, namespace: 3}}", "A has a name or namespace that no"),
        (
            "{apiVersion: v1, kind: A, metadata: {name: a}, x: &a [*a]}",
            "it is no YAML in line 1: an alias stands",
        ),
        ("a: [", "it is no YAML in line 2: did not find expected node content"),
        ("x: *Secret", "it is no YAML in line 1: found undefined alias"),
        ("x: !Secret y", "it is no YAML in line 1: could not determine a constructor for the tag …"),
        ("x: 0b_", "it is no YAML"),
        ("x: !!bool Secret", "it is no YAML"),
        ("x: !!int ''", "it is no YAML"),
        ("x: !!float ''", "it is no YAML"),
        ("x: !!timestamp Secret", "it is no YAML"),
        ("x: .inf", "it is no YAML in line 1: a number that JSON cannot have"),
        ("{[a]: b}", "it is no YAML in line 1: a key that is no single value"),
    ],
)
def test_what_is_no_object_is_told_without_its_content(text: str, words: str) -> None:
    (found,) = titles(text)
    assert found.startswith(words)
    assert "Secret" not in found


def test_what_is_no_text_is_told() -> None:
    assert list(parse_manifests(b"a: \xff")) == [Fault("it is no YAML")]


def test_what_comes_before_a_broken_place_is_found() -> None:
    found = titles("apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\nb: [")
    assert found == ["v1 /A/a", "it is no YAML in line 6: did not find expected node content"]
