# SPDX-License-Identifier: Apache-2.0
"""Digests: the names that content gives to itself. All registries agree on those of sha256 alone."""

from __future__ import annotations

import hashlib
import re
from typing import Final, NewType

from muster.errors import UserError

Digest = NewType("Digest", str)
"""``sha256:`` and 64 hexadecimal digits in lower case."""

PREFIX: Final = "sha256:"
_FORM: Final = re.compile(r"sha256:[0-9a-f]{64}")


def parse_digest(text: str) -> Digest:
    """A digest that somebody wrote, or a registry sent."""
    if not _FORM.fullmatch(text):
        raise UserError(
            f"{text[:100]!r} is not a digest that can be checked",
            hint="a digest is sha256: and 64 hexadecimal digits in lower case",
        )
    return Digest(text)


def is_digest(text: str) -> bool:
    return _FORM.fullmatch(text) is not None


def digest_of(data: bytes) -> Digest:
    return Digest(PREFIX + hashlib.sha256(data).hexdigest())


def hex_of(digest: Digest) -> str:
    """The digits alone, as file names have them."""
    return digest.removeprefix(PREFIX)
