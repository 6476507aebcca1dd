# SPDX-License-Identifier: Apache-2.0
"""All of an answer but its body, whatever sends it."""

from __future__ import annotations

from muster.frozen import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Head:
    """All of an answer but its body."""

    status: int
    headers: Headers
    length: int
    """Of the body, or of what it would be."""
