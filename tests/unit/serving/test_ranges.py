# SPDX-License-Identifier: Apache-2.0
"""Ranges and conditions are read as RFC 9110 wants it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from muster.serving.ranges import (
    Choice,
    Entity,
    Span,
    choose,
    names_etag,
    parse_date,
    parse_range,
    render_date,
)

WHEN = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
ENTITY = Entity(100, '"a"', WHEN)
DATE = "Fri, 02 Jan 2026 03:04:05 GMT"
EARLIER = render_date(WHEN - timedelta(seconds=1))
ALL = Choice(200, Span(0, 100))
SOME = Choice(206, Span(10, 10), (("Content-Range", "bytes 10-19/100"),))


@pytest.mark.parametrize(
    ("header", "span"),
    [
        ("bytes=0-9", Span(0, 10)),
        ("bytes=90-", Span(90, 10)),
        ("bytes=90-1000", Span(90, 10)),
        ("bytes=-10", Span(90, 10)),
        ("bytes=-1000", Span(0, 100)),
        ("bytes=99-99", Span(99, 1)),
        ("bytes=100-", Span(100, 0)),
        ("bytes=100-200", Span(100, 0)),
        ("bytes=-0", Span(100, 0)),
        ("bytes=9-0", None),
        ("bytes=0-1,5-6", None),
        ("bytes=-", None),
        ("bytes=a-b", None),
        ("bytes=0--1", None),
        ("lines=0-9", None),
        ("bytes=" + "9" * 40 + "-", None),
        ("", None),
    ],
)
def test_ranges(header: str, span: Span | None) -> None:
    assert parse_range(header, 100) == span


def test_a_range_of_nothing() -> None:
    assert parse_range("bytes=0-", 0) == Span(0, 0)


def test_etags() -> None:
    assert names_etag('"a", W/"b"', '"b"')
    assert names_etag("*", '"b"')
    assert not names_etag('"ab"', '"b"')
    assert not names_etag("", '"b"')


@pytest.mark.parametrize(
    ("headers", "choice"),
    [
        ({}, ALL),
        ({"range": "bytes=10-19"}, SOME),
        ({"range": "bytes=100-"}, Choice(416, None, (("Content-Range", "bytes */100"),))),
        ({"range": "bytes=-0"}, Choice(416, None, (("Content-Range", "bytes */100"),))),
        ({"range": "bytes=0-1,5-6"}, ALL),
        ({"range": "bytes=10-19", "if-range": '"a"'}, SOME),
        ({"range": "bytes=10-19", "if-range": 'W/"a"'}, ALL),
        ({"range": "bytes=10-19", "if-range": '"b"'}, ALL),
        ({"range": "bytes=10-19", "if-range": DATE}, SOME),
        ({"range": "bytes=10-19", "if-range": EARLIER}, ALL),
        ({"range": "bytes=10-19", "if-range": "yesterday"}, ALL),
        ({"if-none-match": '"a"'}, Choice(304)),
        ({"if-none-match": 'W/"a"', "range": "bytes=10-19"}, Choice(304)),
        ({"if-none-match": '"b"', "if-modified-since": DATE}, ALL),
        ({"if-modified-since": DATE}, Choice(304)),
        ({"if-modified-since": EARLIER}, ALL),
        ({"if-modified-since": "yesterday"}, ALL),
        ({"if-match": '"a"', "range": "bytes=10-19"}, SOME),
        ({"if-match": '"b"', "range": "bytes=10-19"}, Choice(412)),
        ({"if-match": "*"}, ALL),
        ({"if-unmodified-since": EARLIER}, Choice(412)),
        ({"if-unmodified-since": DATE}, ALL),
    ],
)
def test_conditions(headers: dict[str, str], choice: Choice) -> None:
    assert choose("GET", headers, ENTITY) == choice


def test_a_head_is_never_a_part() -> None:
    assert choose("HEAD", {"range": "bytes=10-19"}, ENTITY) == ALL
    assert choose("HEAD", {"if-none-match": '"a"'}, ENTITY) == Choice(304)


def test_without_a_date_only_etags_count() -> None:
    undated = Entity(100, '"a"')
    assert choose("GET", {"if-modified-since": DATE}, undated) == ALL
    assert choose("GET", {"if-range": DATE, "range": "bytes=10-19"}, undated) == ALL


def test_dates_there_and_back() -> None:
    assert render_date(WHEN) == DATE
    assert parse_date(DATE) == WHEN.replace(microsecond=0)
    assert parse_date("Fri, 02 Jan 2026 99:04:05 GMT") is None
