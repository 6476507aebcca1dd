# SPDX-License-Identifier: Apache-2.0
"""Where a part of a value stands: a line of a block of text, a certificate of a bundle."""

from __future__ import annotations

from muster.config.formats.pem import block_starts
from muster.model.problem import Place
from muster.model.tree import Node, Source


def place_of_text(node: Node, text: str) -> Place:
    """Where a text stands within a value; the value itself when it is written in another way."""
    found = node.source.text.find(text, node.start, node.end) if text else -1
    return Place.of(node) if found < 0 else Place(node.source, found, found + len(text))


def span_of(at: Node | Source) -> Place:
    """The place of a value, or of a whole file."""
    return Place(at, 0, len(at.text)) if isinstance(at, Source) else Place.of(at)


def places_of_blocks(span: Place) -> list[Place]:
    """Where the blocks of a bundle stand; in a block of text they are indented, but in the same order."""
    text = span.source.text
    starts = list(block_starts(text, span.start, span.end))
    return [Place(span.source, start, _line_end(text, start, span.end)) for start in starts]


def place_of_rest(span: Place, rest: str) -> Place:
    """Where the first line of what follows the last block stands."""
    text = span.source.text
    first = rest.partition("\n")[0].rstrip("\r")
    found = text.rfind(first, span.start, span.end)
    return span if found < 0 else Place(span.source, found, found + len(first))


def _line_end(text: str, start: int, stop: int) -> int:
    end = text.find("\n", start, stop)
    return (end if end >= 0 else stop) - (1 if end > 0 and text[end - 1] == "\r" else 0)
