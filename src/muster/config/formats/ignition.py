# SPDX-License-Identifier: Apache-2.0
"""Ignition configs that users add: whether the installer, which merges them into its own, can read them."""

from __future__ import annotations

import json
import re
from typing import Final

_VERSION: Final = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})\Z")
_NEWEST: Final = (3, 2)


def ignition_fault(text: str) -> str:
    """Why a text is no Ignition config of a version up to 3.2, or nothing when it is one."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        return f"it is not JSON: {error.msg.lower()} (line {error.lineno}, column {error.colno} of the value)"
    except (ValueError, RecursionError):
        return "it is not JSON"
    head = data.get("ignition") if isinstance(data, dict) else None
    version = head.get("version") if isinstance(head, dict) else None
    if version is None:
        return 'it does not say its version, like {"ignition": {"version": "3.2.0"}}'
    match = _VERSION.match(version) if isinstance(version, str) else None
    if match is None:
        return "its version is not a text of three numbers, like 3.2.0"
    if not (_NEWEST[0], 0) <= (int(match[1]), int(match[2])) <= _NEWEST:
        return f"its version is {version}; overrides may have 3.0.0 to 3.2.0"
    return ""
