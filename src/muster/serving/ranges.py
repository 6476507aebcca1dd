# SPDX-License-Identifier: Apache-2.0
"""What of a file a client wants, by the conditions and the range of its request; pure.

The order of the conditions is that of RFC 9110, section 13.2.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Final

from muster.frozen import dataclass

_RANGE: Final = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))")
_READING: Final = ("GET", "HEAD")


@dataclass(frozen=True)
class Span:
    """Some of the bytes of a file."""

    start: int
    count: int


@dataclass(frozen=True)
class Entity:
    """What could be sent: how large it is, and what tells it from what it was before."""

    size_bytes: int
    etag: str
    """A strong one, with its quotes."""
    modified: datetime | None = None


@dataclass(frozen=True)
class Choice:
    """What is sent: a status, and the bytes that go with it, if any do."""

    status: int
    span: Span | None = None
    headers: tuple[tuple[str, str], ...] = ()


def choose(method: str, headers: Mapping[str, str], entity: Entity) -> Choice:
    """What a request gets; the names of its headers are in lower case."""
    if _is_outdated(headers, entity):
        return Choice(412)
    if method in _READING and _is_known(headers, entity):
        return Choice(304)
    span = _find_span(method, headers, entity)
    if span is None:
        return Choice(200, Span(0, entity.size_bytes))
    if span.count == 0:
        return Choice(416, headers=(("Content-Range", f"bytes */{entity.size_bytes}"),))
    last = span.start + span.count - 1
    where = f"bytes {span.start}-{last}/{entity.size_bytes}"
    return Choice(206, span, (("Content-Range", where),))


def parse_range(text: str, size_bytes: int) -> Span | None:
    """The bytes that a Range header asks for; an empty span when there are none such.

    None when all of it has to be sent: for what is no range, for several of them, and for other units.
    """
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return None
    first, last, tail = match.groups()
    if tail is not None:
        count = min(int(tail), size_bytes)
        return Span(size_bytes - count, count)
    if last and int(last) < int(first):
        return None
    start = min(int(first), size_bytes)
    end = min(int(last) + 1, size_bytes) if last else size_bytes
    return Span(start, end - start)


def names_etag(header: str, etag: str) -> bool:
    """Whether an If-None-Match header names what a client would get."""
    written = [each.strip().removeprefix("W/") for each in header.split(",")]
    return "*" in written or etag in written


def render_date(moment: datetime) -> str:
    """A moment as HTTP writes it."""
    return format_datetime(moment.astimezone(UTC), usegmt=True)


def parse_date(text: str) -> datetime | None:
    """A moment as HTTP writes it; None for anything else."""
    try:
        found = parsedate_to_datetime(text.strip())
    except (ValueError, TypeError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _is_outdated(headers: Mapping[str, str], entity: Entity) -> bool:
    """Whether a client goes on only with something else than what is here."""
    if "if-match" in headers:
        written = [each.strip() for each in headers["if-match"].split(",")]
        return "*" not in written and entity.etag not in written
    since = parse_date(headers.get("if-unmodified-since", ""))
    return (
        since is not None and entity.modified is not None and entity.modified.replace(microsecond=0) > since
    )


def _is_known(headers: Mapping[str, str], entity: Entity) -> bool:
    """Whether a client has it already."""
    if "if-none-match" in headers:
        return names_etag(headers["if-none-match"], entity.etag)
    since = parse_date(headers.get("if-modified-since", ""))
    return (
        since is not None and entity.modified is not None and entity.modified.replace(microsecond=0) <= since
    )


def _find_span(method: str, headers: Mapping[str, str], entity: Entity) -> Span | None:
    """The bytes that a client wants, if not all; who has something else so far, gets all."""
    if method != "GET" or "range" not in headers:
        return None
    condition = headers.get("if-range", "").strip()
    if condition and condition != entity.etag and not _is_date_of(condition, entity):
        return None
    return parse_range(headers["range"], entity.size_bytes)


def _is_date_of(condition: str, entity: Entity) -> bool:
    return entity.modified is not None and condition == render_date(entity.modified)
