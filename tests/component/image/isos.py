# SPDX-License-Identifier: Apache-2.0
"""Small images that do not compress."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from muster.image.iso.writer import render_iso


def small_iso(size_bytes: int = 600_000, seed: int = 1) -> bytes:
    """An image of this size, rounded down to whole sectors."""
    return _image(random.Random(seed).randbytes(size_bytes // 2048 * 2048 - len(_image(b""))))


def _image(noise: bytes) -> bytes:
    return render_iso({"noise": noise}, label="small", when=datetime(2026, 1, 1, tzinfo=UTC))
