# SPDX-License-Identifier: Apache-2.0
"""Fields that somebody fills in."""

from __future__ import annotations


class WrongField(Exception):
    """What is wrong with what was typed in, and where."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field
