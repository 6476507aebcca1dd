# SPDX-License-Identifier: Apache-2.0
"""Collects the parts of a bundle, all at once: each has its deadline, and none keeps from the others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from muster.frozen import dataclass
from muster.machine import Machine
from muster.patience import finish_within
from muster.release.off_loop import off_loop
from muster.support.copying import FolderCopy
from muster.support.parts import COMMANDS, FOLDERS, JOURNALS, Folder, Journal
from muster.support.room import Kept, load_pieces, reason_of
from muster.support.secrets import clean_json, clean_log, clean_text
from muster.support.sink import Sink

_JOURNAL_S: Final = 90
_SCRIPT: Final = (
    "raw=$1 most=$2 late=$3; shift 3;"
    ' (timeout "$late" journalctl --quiet --no-pager --output=short-iso-precise "$@"'
    ' || echo "journalctl ended with status $?" >&2)'
    ' | tail --bytes="$most" >"$raw"'
)
"""What comes before the end goes by and needs no memory; when time is up, what came until then is kept."""
_CLEAN_S: Final = 120.0
_NO_SUCH_UNIT: Final = "No data available"
_COMMAND_S: Final = 20.0
_FOLDER_S: Final = 30.0
_GRACE_S: Final = 10.0
_COMMAND_BYTES: Final = 4 << 20


@dataclass(frozen=True)
class Collection(Sink):
    """What is being collected, and of which machine."""

    machine: Machine


@dataclass(frozen=True)
class Part:
    """Something that is collected."""

    name: str
    collect: Callable[[Collection], Awaitable[Kept]]
    deadline_s: float = _COMMAND_S


def parts_of_host() -> Iterator[Part]:
    """What every host has."""
    for journal in JOURNALS:
        yield Part(journal.name, partial(_journal, journal=journal), _JOURNAL_S + _COMMAND_S + _CLEAN_S)
    for name, argv in COMMANDS.items():
        yield Part(name, partial(_command, name=name, argv=argv), _COMMAND_S + _GRACE_S)
    for folder in FOLDERS:
        yield Part(folder.name, partial(_folder, folder=folder), _FOLDER_S + _GRACE_S)


async def collect(to: Collection, parts: Sequence[Part]) -> tuple[Kept, ...]:
    """All parts; what went wrong with one is what came of that one."""
    works = (finish_within(each.collect(to), each.deadline_s) for each in parts)
    results = await asyncio.gather(*works, return_exceptions=True)
    return tuple(_settle(part, result, to) for part, result in zip(parts, results, strict=True))


def _settle(part: Part, result: Kept | BaseException, to: Collection) -> Kept:
    if isinstance(result, Kept):
        return result
    if isinstance(result, TimeoutError):
        return Kept(missed=((part.name, f"it took longer than {part.deadline_s:g} s"),))
    return Kept(missed=((part.name, clean_text(reason_of(result), to.secrets)),))


async def _command(to: Collection, name: str, argv: Sequence[str]) -> Kept:
    said = await to.machine.ask(argv, deadline_s=_COMMAND_S)
    missed = [] if said.is_ok else [(name, clean_text(said.trouble, to.secrets))]
    if said.out:
        text = said.out[-_COMMAND_BYTES:]
        missed += [(name, "only its end is here")] if text != said.out else []
        clean = clean_json if name.endswith(".json") else clean_text
        missed += (await to.keep_text(name, text, clean)).missed
    return Kept(missed=tuple(missed))


async def _journal(to: Collection, journal: Journal) -> Kept:
    raw = to.folder / f"{journal.name.replace('/', '-')}.raw"
    given = (str(raw), str(journal.most), str(_JOURNAL_S), *journal.arguments)
    try:
        said = await to.machine.ask(("sh", "-c", _SCRIPT, "sh", *given), deadline_s=_JOURNAL_S + _COMMAND_S)
        missed = [(journal.name, clean_text(said.trouble, to.secrets))] if said.err or not said.is_ok else []
        if _NO_SUCH_UNIT in said.err:
            return Kept()
        if raw.exists() and raw.stat().st_size:
            missed += await off_loop(_keep_journal, to, journal, raw)
        elif not missed:
            missed.append((journal.name, "it has no entries"))
    finally:
        raw.unlink(missing_ok=True)
    return Kept(missed=tuple(missed))


def _keep_journal(to: Collection, journal: Journal, raw: Path) -> list[tuple[str, str]]:
    is_cut = raw.stat().st_size >= journal.most
    pieces = clean_log(load_pieces(raw, is_cut=is_cut), to.secrets)
    missed = [(journal.name, f"only its last {journal.most >> 10} KiB are here")] if is_cut else []
    return [*missed, *to.write(journal.name, pieces).missed]


async def _folder(to: Collection, folder: Folder) -> Kept:
    end = time.monotonic() + _FOLDER_S

    def clean(text: str) -> str:
        return folder.clean(text, to.secrets)

    copy = FolderCopy(to.machine.root, to.folder, clean, to.room, folder.file_bytes, folder.folder_bytes)
    return await off_loop(copy.keep, folder.name, lambda: time.monotonic() > end)
