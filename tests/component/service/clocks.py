# SPDX-License-Identifier: Apache-2.0
"""A clock that tests set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class Clock:
    """The time, and what a test adds to it."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead
