# SPDX-License-Identifier: Apache-2.0
"""Where the programs that a lab needs come from: the system, else the toolbox."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from muster.frozen import dataclass
from muster.run import find_program
from muster.toolbox import Toolbox, open_toolbox


@dataclass(frozen=True)
class Means:
    """What programs are looked for in."""

    cache: Path
    say: Callable[[str], None] = lambda _text: None
    qemu: str | None = None
    """A QEMU that the user names, whatever its version."""
    processors: int = os.cpu_count() or 1

    def open_toolbox(self) -> Toolbox:
        """Programs of Debian 13; they are fetched when they are not there yet."""
        return open_toolbox(self.cache, heard=self.say)

    def program(self, name: str) -> tuple[str, ...]:
        """A program of the system, else of the toolbox."""
        own = find_program(name)
        return (str(own),) if own else tuple(self.open_toolbox().argv(name))
