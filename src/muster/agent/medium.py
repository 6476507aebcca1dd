# SPDX-License-Identifier: Apache-2.0
"""Whether the medium that the host booted can still be read: without it half of the system is gone.

So nothing of that system may be needed to find out: the kernel is asked, and no program.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from muster.agent.inventory.mounts import read_mounts
from muster.machine import Machine
from muster.model.medium import MEDIUM

_DEADLINE_S: Final = 10.0
_SECTOR: Final = 2048


async def find_medium_trouble(machine: Machine) -> str:
    """Why the medium cannot be read; empty when it can, or when the host needs none."""
    mounted = (each.source for each in read_mounts(machine.root) if each.point == MEDIUM)
    source = next((each for each in mounted if each.startswith("/dev/")), "")
    if not source:
        return ""
    try:
        async with asyncio.timeout(_DEADLINE_S):
            return await asyncio.to_thread(_read, machine.root / source.lstrip("/"), source)
    except TimeoutError:
        return f"cannot read the installation medium {source}: it does not answer"


def _read(path: Path, source: str) -> str:
    try:
        with path.open("rb", buffering=0) as file:
            file.read(_SECTOR)
    except OSError as error:
        return f"cannot read the installation medium {source}: {(error.strerror or str(error)).lower()}"
    return ""
