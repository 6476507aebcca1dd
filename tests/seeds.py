# SPDX-License-Identifier: Apache-2.0
"""Randomness that is the same in every run, and the secrets made from it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime

from muster.image.secrets import SiteSecrets, make_secrets

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def seeded(seed: str) -> Callable[[int], bytes]:
    """Bytes that follow from a word."""
    count = 0

    def random(size: int) -> bytes:
        nonlocal count
        count += 1
        return hashlib.shake_256(f"{seed} {count}".encode()).digest(size)

    return random


def fixed_secrets(seed: str = "muster") -> SiteSecrets:
    """The same secrets every time."""
    return make_secrets(seeded(seed), NOW)
