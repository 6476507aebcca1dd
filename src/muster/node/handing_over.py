# SPDX-License-Identifier: Apache-2.0
"""The rendezvous host takes the service along: its data goes to the disk that the host boots from next."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Final

from muster.errors import cannot
from muster.machine import Machine
from muster.node.mounted import mounted
from muster.node.parts import WrittenDisk

SERVICE: Final = "var/lib/muster/service"
UNIT: Final = "muster-rendezvous.service"
_DEADLINE_S: Final = 90.0


def is_rendezvous(machine: Machine) -> bool:
    """Whether the service of the site runs on this host."""
    return (machine.root / SERVICE / "site.json").exists()


async def take_along(machine: Machine, disk: WrittenDisk) -> None:
    """Stop the service, and copy what it has; it comes up again from there."""
    await machine.ask(["systemctl", "stop", UNIT], deadline_s=_DEADLINE_S)
    async with mounted(machine, disk) as place:
        target = place.var / Path(SERVICE).relative_to("var")
        await asyncio.to_thread(_copy, machine.root / SERVICE, target)


def _copy(source: Path, target: Path) -> None:
    try:
        if target.exists():
            shutil.rmtree(target)
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        shutil.copytree(source, target, symlinks=True)
    except OSError as error:
        raise cannot("copy to", target, error) from error
