# SPDX-License-Identifier: Apache-2.0
"""The client package from PyPI: our table has every operation that it calls, in the same shape."""

from __future__ import annotations

import re
from typing import Any, Final, get_args, get_origin

import pytest

from muster.model.wire import enums
from muster.service.api.table import ROUTES
from muster.service.api.table.route import PREFIX, Route
from muster.service.api.table.shapes import OUR_SHAPES, SHAPES
from tests.component.service.client import client_operations
from tests.component.service.test_client_models import ALIASES, RENAMED

NOT_OFFERED: Final = {
    ("GET", "/v2/offline-openshift-versions"): "a list of releases of a hosted service",
}
THEIRS: Final = client_operations()
OURS: Final[dict[tuple[str, str], Route]] = {
    (each.method, each.path.removeprefix(PREFIX)): each
    for each in ROUTES
    if each.operation_id not in OUR_SHAPES
}
OFFERED: Final = sorted(set(THEIRS) - set(NOT_OFFERED))
_PLAIN: Final = {"": None, "str": str, "file": bytes}
BODY_DIFFERS: Final = {
    ("POST", "/v2/clusters/{cluster_id}/logs"): "a form: the client has no type for it",
}
ANSWER_DIFFERS: Final = {
    ("GET", "/v2/infra-envs/{infra_env_id}/downloads/minimal-initrd"): "a file, which it calls text",
}
FURTHER_HEADERS: Final = {"Prefer": "clients of ours wait with it"}


def test_every_operation_is_there() -> None:
    assert set(OURS) == set(THEIRS) - set(NOT_OFFERED)
    assert {each.operation_id for each in ROUTES} == set(SHAPES)


@pytest.mark.parametrize("key", OFFERED, ids=" ".join)
def test_an_operation_is_called_the_same(key: tuple[str, str]) -> None:
    theirs, parameters = THEIRS[key], SHAPES[OURS[key].operation_id].parameters
    query = [each for each in parameters if each.place == "query"]
    headers = {each.name for each in parameters if each.place == "header"}
    assert {each.name for each in query} == theirs.query
    assert {each.name for each in query if each.required} == theirs.required
    assert headers - set(FURTHER_HEADERS) == theirs.headers


@pytest.mark.parametrize("key", OFFERED, ids=" ".join)
def test_an_operation_takes_and_answers_the_same(key: tuple[str, str]) -> None:
    theirs, shape = THEIRS[key], SHAPES[OURS[key].operation_id]
    if key not in BODY_DIFFERS:
        assert _name(shape.body) == _client_name(theirs.body)
    if key not in ANSWER_DIFFERS:
        assert _name(shape.answer) == _client_name(theirs.answer)


@pytest.mark.parametrize("key", OFFERED, ids=" ".join)
def test_the_client_finds_the_operation_by_its_name(key: tuple[str, str]) -> None:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", OURS[key].operation_id).lower()
    assert words == THEIRS[key].name


def _name(kind: Any) -> Any:
    """A type in words that both sides share."""
    if get_origin(kind) is tuple:
        return "list", _name(get_args(kind)[0])
    if get_origin(kind) is dict:
        return "map", _name(get_args(kind)[1])
    if get_args(kind):
        return "words", frozenset(get_args(kind))
    return kind.__name__ if isinstance(kind, type) else kind


def _client_name(kind: str) -> Any:
    if found := re.fullmatch(r"list\[(.*)\]", kind):
        return "list", _client_name(found[1])
    if kind in _PLAIN:
        return _name(_PLAIN[kind])
    if kind in ALIASES:
        return _name(ALIASES[kind])
    if hasattr(enums, kind):
        return _name(getattr(enums, kind))
    return RENAMED.get(kind, kind)
