# SPDX-License-Identifier: Apache-2.0
"""What is mounted where, as the kernel lists it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from muster.agent.inventory.reading import read_text
from muster.frozen import dataclass

_OCTAL: Final = re.compile(r"\\([0-7]{3})")
_FIXED: Final = 6
"""How many words of a line come before those of which there can be any number."""


@dataclass(frozen=True)
class Mount:
    """A file system that is mounted."""

    number: str
    """Of the device: 8:1. Of no device when it begins with 0."""
    point: str
    type: str
    source: str


def read_mounts(root: Path) -> tuple[Mount, ...]:
    """What is mounted, the first first."""
    return parse_mounts(read_text(root / "proc/self/mountinfo"))


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """The lines of mountinfo that make sense."""
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        words, more = before.split(" "), after.split(" ")
        if len(words) >= _FIXED and len(more) >= 2:
            found.append(Mount(words[2], _plain(words[4]), more[0], _plain(more[1])))
    return tuple(found)


def _plain(text: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
