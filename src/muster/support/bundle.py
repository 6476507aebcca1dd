# SPDX-License-Identifier: Apache-2.0
"""One bundle of one host: collected, read, and packed; there is one whatever could not be collected."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from muster.errors import cannot
from muster.frozen import dataclass
from muster.machine import Machine
from muster.release.off_loop import off_loop
from muster.support.archive import pack
from muster.support.causes import Cause
from muster.support.collecting import Collection, Part, collect, parts_of_host
from muster.support.first_page import About, load_findings, write_front
from muster.support.room import Kept, Room
from muster.support.secrets import load_secrets


@dataclass(frozen=True)
class Wish:
    """What is to be made."""

    about: About
    archive: Path
    top: str
    """The folder that all files of the archive are in."""
    scratch: Path
    """Where files are put together; it may be another file system."""
    more: tuple[Part, ...] = ()
    """What is collected besides what every host has."""


@dataclass(frozen=True)
class Made:
    """A bundle."""

    archive: Path
    cause: Cause | None
    """The most probable one."""


async def make_bundle(machine: Machine, wish: Wish) -> Made:
    """Collect everything of a host in an archive."""
    with open_folder(wish.scratch) as folder:
        secrets = await off_loop(load_secrets, machine.root)
        to = Collection(folder, secrets, Room(), machine)
        kept = await collect(to, (*parts_of_host(), *wish.more))
        to.room.close()
        return await finish(folder, wish, kept)


async def finish(folder: Path, wish: Wish, kept: Sequence[Kept]) -> Made:
    """Put the first page before what was collected, and pack all of it."""
    findings = await off_loop(load_findings, folder, kept)
    with contextlib.suppress(OSError):  # A full disk does not keep from sending what is there.
        write_front(folder, wish.about, findings)
    return Made(await off_loop(pack, folder, wish.archive, wish.top), findings.likely)


@contextlib.contextmanager
def open_folder(scratch: Path) -> Iterator[Path]:
    """A folder that is gone at the end."""
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="collecting-", dir=scratch))
    except OSError as error:
        raise cannot("write", scratch, error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
