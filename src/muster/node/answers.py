# SPDX-License-Identifier: Apache-2.0
"""What the Kubernetes API answers, why something was not done, and how it is asked. No answer is one, too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import msgspec

from muster.frozen import dataclass

NO_HEADERS: Final[Mapping[str, str]] = {}
_SHOWN: Final = 500
_FINAL: Final = (400, 422)
"""A value that is not taken: no waiting mends that."""
_UNTYPED: Final = "failed to create typed patch object"
"""So it says, as an error of its own (500), of a field that nobody knows, or a number instead of a text."""
_WARNING: Final = re.compile(r'\b299 \S+ "((?:[^"\\]|\\.)*+)"')
_ESCAPED: Final = re.compile(r"\\(.)")
_HARMLESS: Final = (401, 404, 409, 429, 503)
"""Answers that say nothing of what was in the question."""


class _Cause(msgspec.Struct):
    field: str = ""


class _Details(msgspec.Struct):
    causes: tuple[_Cause, ...] | None = None


class _Status(msgspec.Struct):
    message: str = ""
    reason: str = ""
    details: _Details | None = None


@dataclass(frozen=True)
class Refusal:
    """Why something was not done."""

    words: str
    is_final: bool = False
    is_silence: bool = False
    """Nobody answered: whatever else is asked now would not be answered either."""

    @classmethod
    def of(cls, what: str, whys: Iterable[Refusal]) -> Refusal:
        """Several of them as one, in words that are not too many."""
        found = tuple(whys)
        text = "; ".join(dict.fromkeys(each.words for each in found))
        return cls(
            f"{what}{text}"[:_SHOWN],
            is_final=any(each.is_final for each in found),
            is_silence=any(each.is_silence for each in found),
        )


@dataclass(frozen=True)
class Answer:
    """What came back: a status of HTTP with a body; or 0, and the body says why nothing came."""

    status: int
    body: bytes = b""
    warnings: tuple[str, ...] = ()
    """What the API warns about although it does what it is asked."""

    @property
    def is_ok(self) -> bool:
        return 200 <= self.status < 300

    def refusal(self, about: str = "", *, hides: bool = False) -> Refusal | None:
        """What the API does not like ``about`` something; the words may quote what ``hides`` its content."""
        if self.is_ok:
            return None
        words = self._hidden_words() if hides and self.status not in _HARMLESS else self.words
        is_final = self.status in _FINAL or (self.status == 500 and _UNTYPED in self.words)
        return Refusal(f"{about}: {words}" if about else words, is_final, is_silence=not self.status)

    @property
    def words(self) -> str:
        """What the API says, in one line."""
        text = self._told().message if self.status else self.body.decode("utf-8", "replace")
        return " ".join(text.split())[:_SHOWN] or f"the API answers with status {self.status}"

    def _hidden_words(self) -> str:
        """Which fields it is about, but not what the API says of them: that may quote them."""
        if not self.status:
            return self.words
        told = self._told()
        causes = told.details.causes if told.details else None
        fields = ", ".join(dict.fromkeys(each.field for each in causes or () if each.field))
        why = ": ".join(filter(None, (told.reason, fields)))
        return f"the API answers with status {self.status}" + (f" ({why})" if why else "")

    def _told(self) -> _Status:
        try:
            return msgspec.json.decode(self.body, type=_Status)
        except msgspec.DecodeError:  # Not the API itself: what stands between, or it is about to end.
            return _Status()


def parse_warnings(headers: Iterable[str]) -> tuple[str, ...]:
    """The texts of `Warning` headers of the Kubernetes API, each in one line."""
    found = (_ESCAPED.sub(r"\1", match[1]) for header in headers for match in _WARNING.finditer(header))
    return tuple(" ".join(text.split())[:_SHOWN] for text in found)


class Line(Protocol):
    """A way to ask the API of a cluster. It never raises for what the cluster says, or does not say."""

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = NO_HEADERS
    ) -> Answer: ...
