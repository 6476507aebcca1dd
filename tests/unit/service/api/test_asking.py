# SPDX-License-Identifier: Apache-2.0
"""What requests say beside their body, in all the ways in which clients write it."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import pytest
from msgspec import Meta

from muster.service.api.asking import make_check, read_flag
from muster.service.api.table.shape import Shape, header, may, need
from muster.service.refusals import BadRequest

CHECK = make_check(
    Shape(
        (
            need("file_name", Literal["a", "b"]),
            may("limit", Annotated[int, Meta(ge=-1)]),
            may("host_ids", tuple[UUID, ...]),
            may("with_hosts", bool),
            may("message"),
            header("Prefer"),
            header("get_unregistered_clusters", bool),
        )
    )
)
ID = "0f8fad5b-d9cb-469f-a165-70867728950e"


def check(query: dict[str, str], headers: dict[str, str] | None = None) -> None:
    assert CHECK is not None
    CHECK({"file_name": "a", **query}, headers or {})


@pytest.mark.parametrize(
    "query",
    [
        {"file_name": "b"},
        {"limit": "-1"},
        {"limit": "7"},
        {"limit": ""},
        {"host_ids": ID},
        {"host_ids": f"{ID},{ID}"},
        {"with_hosts": "True"},
        {"with_hosts": "0"},
        {"message": "anything, at all"},
        {"unknown": "x"},
    ],
)
def test_what_is_as_it_should_be(query: dict[str, str]) -> None:
    check(query)


@pytest.mark.parametrize(
    "query",
    [
        {"file_name": "c"},
        {"file_name": ""},
        {"limit": "-2"},
        {"limit": "many"},
        {"limit": "1.5"},
        {"host_ids": f"{ID},x"},
        {"with_hosts": "perhaps"},
    ],
)
def test_what_is_not(query: dict[str, str]) -> None:
    (name,) = query
    with pytest.raises(BadRequest, match=name):
        check(query)


def test_headers_are_read_by_names_in_lower_case() -> None:
    check({}, {"prefer": "wait=5", "get_unregistered_clusters": "false"})
    with pytest.raises(BadRequest, match="get_unregistered_clusters"):
        check({}, {"get_unregistered_clusters": "maybe"})


def test_an_operation_without_parameters_is_not_looked_at() -> None:
    assert make_check(Shape()) is None


@pytest.mark.parametrize(("text", "found"), [("TRUE", True), ("no", False), ("", None), ("2", None)])
def test_flags(text: str, found: bool | None) -> None:
    assert read_flag(text) is found
