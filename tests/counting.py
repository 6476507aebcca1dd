# SPDX-License-Identifier: Apache-2.0
"""Counts operations, for tests of what something costs: times differ from machine to machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls_in(do: Callable[[], object]) -> int:
    """How many functions of Python and of the interpreter are called."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        do()
    finally:
        sys.setprofile(None)
    return count
