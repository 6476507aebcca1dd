# SPDX-License-Identifier: Apache-2.0
"""The rendezvous host takes the service along: its data goes to the disk that the host boots from next.

Until it leaves, the service runs from memory. A copy is left on the disk whenever hosts got further: when
the power fails and the host boots from its disk before its time, the service goes on from there.
"""

from __future__ import annotations

import asyncio
import os
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
_PART: Final = ".part"
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
        _copy_files(source, made)
        for path in source.glob(f"*{_DATABASE}"):
            with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(made / path.name)) as new:
                old.backup(new)
            (made / path.name).chmod(_PRIVATE)
        if target.exists():
            shutil.rmtree(target)
        made.rename(target)
    except (OSError, sqlite3.Error) as error:
        raise _copy_failed(target, error) from error


def _copy_files(source: Path, made: Path) -> None:
    """Copy all but databases; files and directories that are removed meanwhile are left out."""
    try:
        shutil.copytree(source, made, symlinks=True, ignore=_skipped, copy_function=_copy_file)
    except shutil.Error as error:
        left = [each for each in error.args[0] if os.path.lexists(each[0])]
        if left:
            raise shutil.Error(left) from error


def _copy_file(source: str, target: str) -> None:
    try:
        shutil.copy2(source, target)
    except FileNotFoundError:
        if os.path.lexists(source):
            raise
        Path(target).unlink(missing_ok=True)  # Its mode may be missing.


def _skipped(_: str, names: list[str]) -> list[str]:
    """Databases are asked for a copy instead; uploads that are under way are of no use elsewhere."""
    return [name for name in names if _DATABASE in name or name.endswith(_PART)]


def _copy_failed(target: Path, error: OSError | sqlite3.Error) -> ExternalError:
    """What cannot be copied; of many files one is named."""
    reason = str(error)
    if isinstance(error, shutil.Error):
        reasons = [str(why) for _, _, why in error.args[0]]
        reason = reasons[0] + (f" and {len(reasons) - 1} more failures" if len(reasons) > 1 else "")
    elif isinstance(error, OSError):
        reason = error.strerror or reason
    return ExternalError(f"the service's data cannot be copied to {target}: {reason}")


def _copy(source: Path, target: Path) -> None:
    try:
        if target.exists():
            shutil.rmtree(target)
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        shutil.copytree(source, target, symlinks=True)
    except OSError as error:
        raise _copy_failed(target, error) from error
