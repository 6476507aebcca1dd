# SPDX-License-Identifier: Apache-2.0
"""Collects what tells why a host is as it is, in one archive, which also says what could not be had, and why.

Nothing in it is secret: see `log_secrets`. Sending it is not done here.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

from muster.agent.steps.log_files import (
    Clean,
    FolderCopy,
    Kept,
    load_pieces,
    pack,
    reason_of,
    render_report,
    write_pieces,
)
from muster.agent.steps.log_secrets import clean_config, clean_log, clean_text, load_secrets
from muster.errors import cannot
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.steps import LogsGatherCmdRequest
from muster.release.off_loop import off_loop

ARCHIVE: Final = "logs.tar.gz"
COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "dmesg.txt": ("dmesg", "--time-format", "iso"),
    "disks/lsblk.txt": (
        *("lsblk", "--all", "--output"),
        "NAME,MAJ:MIN,SIZE,RO,TYPE,FSTYPE,MOUNTPOINTS,MODEL,SERIAL,WWN,HCTL,STATE,TRAN,PKNAME",
    ),
    "disks/findmnt.txt": ("findmnt", "--output", "TARGET,SOURCE,FSTYPE,OPTIONS,SIZE,USE%"),
    "network/address.txt": ("ip", "-details", "address"),
    "network/link.txt": ("ip", "-details", "-statistics", "link"),
    "network/route-4.txt": ("ip", "-4", "route", "show", "table", "all"),
    "network/route-6.txt": ("ip", "-6", "route", "show", "table", "all"),
    "network/neighbours.txt": ("ip", "neigh"),
    "time/sources.txt": ("chronyc", "-n", "sources", "-v"),
    "time/tracking.txt": ("chronyc", "-n", "tracking"),
    "failed-units.txt": ("systemctl", "--no-pager", "--full", "--failed"),
}
FOLDERS: Final[Mapping[str, Clean]] = {
    "var/log/muster": clean_text,
    "etc/assisted": clean_config,
    "etc/NetworkManager/system-connections": clean_config,
    "run/NetworkManager/system-connections": clean_config,
}
"""Below the root, and how secrets are taken out of their files."""
JOURNAL: Final = "journal.txt"
REPORT: Final = "report.txt"
JOURNAL_BYTES: Final = 64 << 20
_JOURNAL_S: Final = 90
_PIPE: Final = (
    f"(timeout {_JOURNAL_S} journalctl --quiet --no-pager --boot=0 --output=short-iso-precise"
    ' || echo "journalctl ended with status $?" >&2)'
    f' | tail --bytes={JOURNAL_BYTES} >"$1"'
)
"""What comes before the end goes by and needs no memory; when time is up, what came until then is kept."""
_COMMAND_S: Final = 20.0
_FOLDER_S: Final = 30.0


@dataclass(frozen=True)
class _Collection:
    """What is being collected."""

    machine: Machine
    folder: Path
    secrets: tuple[str, ...] = field(repr=False)


async def collect_logs(machine: Machine, request: LogsGatherCmdRequest, workdir: Path) -> Path:
    """Make an archive in a folder; whatever could not be collected, there is one."""
    folder = _make_folder(workdir)
    try:
        secrets = await off_loop(load_secrets, machine.root)
        kept = await _collect(_Collection(machine, folder, secrets))
        with contextlib.suppress(OSError):  # A full disk does not keep from sending what is there.
            write_pieces(folder / REPORT, (render_report(request, kept),))
        return await off_loop(pack, folder, workdir / ARCHIVE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _make_folder(workdir: Path) -> Path:
    try:
        workdir.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="collecting-", dir=workdir))
    except OSError as error:
        raise cannot("write", workdir, error) from error


async def _collect(to: _Collection) -> tuple[Kept, ...]:
    async with asyncio.TaskGroup() as group:
        works = [
            group.create_task(_journal(to)),
            *(group.create_task(_command(to, name, argv)) for name, argv in COMMANDS.items()),
            *(group.create_task(_folder(to, name, clean)) for name, clean in FOLDERS.items()),
        ]
    return tuple(work.result() for work in works)


async def _command(to: _Collection, name: str, argv: Sequence[str]) -> Kept:
    said = await to.machine.ask(argv, deadline_s=_COMMAND_S)
    try:
        if said.out:
            await off_loop(write_pieces, to.folder / name, clean_log((said.out,), to.secrets))
    except OSError as error:
        return Kept(missed=((name, reason_of(error)),))
    return Kept() if said.is_ok else Kept(missed=((name, clean_text(said.trouble, to.secrets)),))


async def _journal(to: _Collection) -> Kept:
    raw = to.folder / "journal.raw"
    said = await to.machine.ask(("sh", "-c", _PIPE, "sh", raw), deadline_s=_JOURNAL_S + _COMMAND_S)
    missed = [(JOURNAL, clean_text(said.trouble, to.secrets))] if said.err or not said.is_ok else []
    try:
        is_cut = raw.stat().st_size >= JOURNAL_BYTES
        if is_cut:
            missed.append((JOURNAL, f"only its last {JOURNAL_BYTES >> 20} MiB are here"))
        pieces = clean_log(load_pieces(raw, is_cut=is_cut), to.secrets)
        await off_loop(write_pieces, to.folder / JOURNAL, pieces)
    except OSError as error:
        missed.append((JOURNAL, reason_of(error)))
    finally:
        raw.unlink(missing_ok=True)
    return Kept(missed=tuple(missed))


async def _folder(to: _Collection, name: str, clean: Clean) -> Kept:
    end = time.monotonic() + _FOLDER_S
    copy = FolderCopy(to.machine.root, to.folder, lambda text: clean(text, to.secrets))
    return await off_loop(copy.keep, name, lambda: time.monotonic() > end)
