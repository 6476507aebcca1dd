# SPDX-License-Identifier: Apache-2.0
"""The rendezvous host takes the service along: its data goes to the disk that the host boots from next.

Until it leaves, the service runs from memory. A copy is left on the disk whenever hosts got further: when
the power fails and the host boots from its disk before its time, the service goes on from there.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from muster.errors import ExternalError, cannot
from muster.machine import Machine
from muster.node.marks import Mark, mark
from muster.node.mounted import mounted
from muster.node.parts import WrittenDisk

SERVICE: Final = "var/lib/muster/service"
UNIT: Final = "muster-rendezvous.service"
_DEADLINE_S: Final = 90.0
_SITE: Final = "site.json"
_DATABASE: Final = ".sqlite"
_PRIVATE: Final = 0o600


def is_rendezvous(machine: Machine) -> bool:
    """Whether the service of the site runs on this host."""
    return (machine.root / SERVICE / _SITE).exists()


async def take_along(machine: Machine, disk: WrittenDisk) -> None:
    """Stop the service, and copy what it has; it comes up again from there."""
    await machine.ask(["systemctl", "stop", UNIT], deadline_s=_DEADLINE_S)
    async with mounted(machine, disk) as place:
        target = place.var / Path(SERVICE).relative_to("var")
        await asyncio.to_thread(_copy, machine.root / SERVICE, target)
        mark(place.var, _site_of(machine.root))


def _site_of(root: Path) -> str:
    """The cluster whose service runs here."""
    path = root / SERVICE / _SITE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Mark).cluster_id
    except OSError as error:
        raise cannot("read", path, error) from error
    except msgspec.DecodeError as error:
        raise ExternalError(f"{path} does not say which site this is: {error}") from error


async def leave_copy(machine: Machine, disk: WrittenDisk) -> None:
    """Copy what the service has while it runs; a copy that was begun and not ended is never taken for one."""
    async with mounted(machine, disk) as place:
        target = place.var / Path(SERVICE).relative_to("var")
        await asyncio.to_thread(_copy_running, machine.root / SERVICE, target)


def _copy_running(source: Path, target: Path) -> None:
    made = target.with_name(f"{target.name}.new")
    try:
        shutil.rmtree(made, ignore_errors=True)
        made.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        shutil.copytree(source, made, symlinks=True, ignore=_databases)
        for path in source.glob(f"*{_DATABASE}"):
            with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(made / path.name)) as new:
                old.backup(new)
            (made / path.name).chmod(_PRIVATE)
        if target.exists():
            shutil.rmtree(target)
        made.rename(target)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ExternalError(f"the service's data cannot be copied to {target}: {why}") from error


def _databases(_: str, names: list[str]) -> list[str]:
    """They change while they are copied, and are asked for a copy instead."""
    return [name for name in names if _DATABASE in name]


def _copy(source: Path, target: Path) -> None:
    try:
        if target.exists():
            shutil.rmtree(target)
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        shutil.copytree(source, target, symlinks=True)
    except OSError as error:
        raise cannot("copy to", target, error) from error
