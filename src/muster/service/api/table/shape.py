# SPDX-License-Identifier: Apache-2.0
"""What goes into an operation beside its path, and what comes out of it, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Literal, TypeAlias

from muster.frozen import dataclass

JSON: Final = "application/json"
OCTETS: Final = "application/octet-stream"
TEXT: Final = "text/plain"
STREAM: Final = "text/event-stream"
FORM: Final = "multipart/form-data"

Place: TypeAlias = Literal["query", "header"]


@dataclass(frozen=True)
class Parameter:
    """Something that is said in the query or in a header."""

    name: str
    type: Any
    """What it has to be, as msgspec knows it. Several words are separated by commas."""
    about: str = ""
    required: bool = False
    place: Place = "query"


@dataclass(frozen=True)
class Shape:
    """What goes in and comes out of one operation."""

    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of its JSON; bytes: a file in a form."""
    answer: Any = None
    """The type of its JSON; bytes: a file; none: there is no body."""
    media_type: str = JSON
    """Of an answer that is neither JSON nor a file."""
    body_required: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of the answer that clients read: their names, and what they say."""
    statuses: Mapping[int, str] = field(default_factory=dict)
    """Further ways to succeed."""


def need(name: str, type: Any = str, about: str = "") -> Parameter:
    """A parameter of the query that has to be there."""
    return Parameter(name, type, about, required=True)


def may(name: str, type: Any = str, about: str = "") -> Parameter:
    """A parameter of the query that can be left out."""
    return Parameter(name, type, about)


def header(name: str, type: Any = str, about: str = "") -> Parameter:
    """A header that can be left out."""
    return Parameter(name, type, about, place="header")
