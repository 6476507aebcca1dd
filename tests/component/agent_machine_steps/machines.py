# SPDX-License-Identifier: Apache-2.0
"""Machines for steps: a folder, and programs that are real or whose answers were recorded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from muster.run import MISSING, Argument, Said, ask


@dataclass(frozen=True)
class RecordedMachine:
    """Its programs answer by their names; the others are not there."""

    root: Path
    answers: Mapping[str, Said] = field(default_factory=dict)
    real: frozenset[str] = frozenset()
    """Programs that are run."""

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        name = Path(argv[0]).name
        if name in self.real:
            return await ask(argv, deadline_s=deadline_s, feed=feed)
        return self.answers.get(name, Said(MISSING, "", f"the program {name} is not there"))


def host(root: Path) -> RecordedMachine:
    """A machine with this one's architecture."""
    return RecordedMachine(root, {"uname": Said(0, f"{os.uname().machine}\n", "")})
