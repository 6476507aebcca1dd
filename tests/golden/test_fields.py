# SPDX-License-Identifier: Apache-2.0
"""Every field of every file is read: a file that writes all fields, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.config.describe import json_schema, model_of
from muster.config.document.bind import Binder
from muster.config.document.parse import parse_yaml
from muster.config.kinds import KINDS
from muster.model.dump import dump
from muster.model.nmstate import NMState
from muster.model.schema import Items, Model, fields_of
from muster.model.tree import Node, Source
from tests.conftest import Golden

FIELDS = Path(__file__).parent / "fields"


def read(kind: str) -> Model:
    path = FIELDS / f"{kind}.yaml"
    documents, problems = parse_yaml(Source(path.name, path.read_text("utf-8")))
    assert not problems
    binder = Binder()
    bound = binder.bind(KINDS[kind][1], documents[0])
    assert bound is not None
    errors = {problem.rule.slug for problem in binder.problems} - {
        "deprecated-field", "ignored-field", "unsupported-field", "deprecated-and-current",
    }  # fmt: skip
    assert not errors
    return bound


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read(kind: str, golden: Golden) -> None:
    text = json.dumps(dump(read(kind)), indent=2, ensure_ascii=False) + "\n"
    golden(FIELDS / f"{kind}.json", text)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_written_by_a_case(kind: str) -> None:
    untouched = {f"{model.__name__}.{name}" for model, name in _all(KINDS[kind][1], set())}
    untouched -= {f"{type(model).__name__}.{name}" for model in _below(read(kind)) for name in model.places}
    assert not untouched


def _all(model: type[Model], seen: set[type[Model]]) -> Iterator[tuple[type[Model], str]]:
    """The fields of a model and of those below it."""
    if model in seen:
        return
    seen.add(model)
    for entry in fields_of(model).values():
        yield model, entry.name
        below = model_of(entry.kind)
        if below is not None:
            yield from _all(below, seen)


def _below(model: Model) -> Iterator[Model]:
    """A model and those that it holds."""
    yield model
    for entry in fields_of(type(model)).values():
        value = getattr(model, entry.name)
        if isinstance(value, Node) and model_of(entry.kind) is NMState:
            value = Binder(partial=True).bind(NMState, value)
        for each in value if isinstance(value, Items) else (value,):
            if isinstance(each, Model):
                yield from _below(each)


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_complete(kind: str) -> None:
    schema = json_schema(kind)
    assert set(schema["properties"]) == set(fields_of(KINDS[kind][1]))
    references = set(_references(schema))
    assert {reference.rpartition("/")[2] for reference in references} == set(schema["$defs"])


def _references(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref":
                yield value
            else:
                yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)
