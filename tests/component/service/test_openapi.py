# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document, read by programs that know OpenAPI."""

from __future__ import annotations

from typing import Any, Final

import jsonschema_rs
import msgspec
import pytest
import schemathesis
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.definitions import OPENAPI_31

from muster.service.api.openapi import build_openapi
from muster.service.api.table import ROUTES
from muster.service.api.table.shapes import SHAPES
from tests.component.service.samples import full, minimal

DOCUMENT: Final = build_openapi(ROUTES, "1.2.3")
OBJECTS: Final = sorted(
    {
        each
        for shape in SHAPES.values()
        for each in (shape.body, shape.answer)
        if isinstance(each, type) and issubclass(each, msgspec.Struct)
    },
    key=lambda each: each.__name__,
)


def test_it_is_openapi() -> None:
    errors = [str(each) for each in jsonschema_rs.validator_for(OPENAPI_31).iter_errors(DOCUMENT)]
    assert errors == []


def test_schemathesis_finds_every_operation() -> None:
    found = list(schemathesis.openapi.from_dict(DOCUMENT).get_all_operations())
    operations = [each.ok() for each in found if isinstance(each, Ok)]
    assert len(operations) == len(found)
    assert {each.definition.raw["operationId"] for each in operations} == set(SHAPES)


@pytest.mark.parametrize("name", sorted(DOCUMENT["components"]["schemas"]))
def test_an_object_is_described_by_a_schema(name: str) -> None:
    jsonschema_rs.meta.validate(_schema(name))


@pytest.mark.parametrize("kind", OBJECTS, ids=lambda each: each.__name__)
def test_what_is_sent_is_as_described(kind: type[msgspec.Struct]) -> None:
    validator = jsonschema_rs.validator_for(_schema(kind.__name__))
    for each in (full(kind), minimal(kind)):
        validator.validate(msgspec.json.decode(msgspec.json.encode(each)))
    assert validator.is_valid([]) is False


def _schema(name: str) -> dict[str, Any]:
    """One object of the document, with all that it refers to."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": f"#/components/schemas/{name}",
        "components": DOCUMENT["components"],
    }
