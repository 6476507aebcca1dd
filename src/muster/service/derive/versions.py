# SPDX-License-Identifier: Apache-2.0
"""Which version is later, as far as defaults depend on it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_NUMBERS: Final = re.compile(r"v?(\d+)\.(\d+)")


@lru_cache(maxsize=256)
def is_at_least(version: str, major: int, minor: int) -> bool:
    """Whether a release is this one of OpenShift or a later one.

    One that does not say what it is counts as the latest, and so does Kubernetes' own 1.x.
    """
    numbers = _NUMBERS.match(version)
    if numbers is None or numbers[1] == "1":
        return True
    return (int(numbers[1]), int(numbers[2])) >= (major, minor)
