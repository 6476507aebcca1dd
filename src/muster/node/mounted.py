# SPDX-License-Identifier: Apache-2.0
"""The system on a disk that was just written, mounted for a while so that files can be put into it.

CoreOS comes with a root file system. Ours makes one at its first boot, unless it finds one: if there is none
yet, it is made here in the same way. What a first boot finds in ``upper``, ``work`` and ``var`` of it is
removed there, as the rest of an attempt that failed; what is to stay is put below ``hand-over/var``, and is
copied from there. Images and programs are never changed: those in ``hand-over`` only get a second name.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import tempfile
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from muster.errors import ExternalError, cannot
from muster.frozen import dataclass
from muster.machine import Machine
from muster.node.parts import WrittenDisk
from muster.release.node.images import PROGRAMS, STORE
from muster.run import Said

_DEADLINE_S: Final = 300.0
_HANDED_OVER: Final = "hand-over/var"
_LINKED: Final = "hand-over"
_PREFIX: Final = "muster-mounted-"


@dataclass(frozen=True)
class Mounted:
    """Where the written system is."""

    root: Path
    boot: Path

    @property
    def var(self) -> Path:
        """What becomes /var of the written system."""
        return self._deployed or self.root / _HANDED_OVER

    @property
    def images(self) -> Path:
        """What becomes the store of images of the written system."""
        return self._linked(STORE)

    @property
    def programs(self) -> Path:
        """What becomes its folder of programs."""
        return self._linked(PROGRAMS)

    def _linked(self, path: str) -> Path:
        if self._deployed is not None:
            return self._deployed / Path(path).relative_to("/var")
        return self.root / _LINKED / Path(path).name

    @property
    def _deployed(self) -> Path | None:
        """What is /var on CoreOS."""
        return next(iter(sorted(self.root.glob("ostree/deploy/*/var"))), None)


@asynccontextmanager
async def mounted(machine: Machine, disk: WrittenDisk) -> AsyncIterator[Mounted]:
    """Mount root and boot of a written disk; they are unmounted whatever happens."""
    await make_root(machine, disk)
    async with mount(machine, disk.root.device) as root, mount(machine, disk.boot.device) as boot:
        place = Mounted(root, boot)
        _make_ways(place.var / "lib/muster")
        yield place


def _make_ways(folder: Path) -> None:
    """Everybody may pass through /var and what leads to ours there, whatever the umask of who installs."""
    try:
        for each in reversed([folder, *folder.parents]):
            if not each.exists():
                each.mkdir()
                each.chmod(0o755)
    except OSError as error:
        raise cannot("make", folder, error) from error


async def make_root(machine: Machine, disk: WrittenDisk) -> None:
    """Give a root partition without a file system the rest of the disk, and a file system."""
    device, number = disk.root.device, str(disk.root.number)
    probe = ("blkid", "--probe", "--match-tag", "TYPE", "--output", "value", device)
    said = await machine.ask(probe, deadline_s=_DEADLINE_S)
    if said.out.strip():
        return
    for command, feed in (
        (("sgdisk", "--move-second-header", disk.path), ""),
        (("sfdisk", "--quiet", "--no-reread", "--no-tell-kernel", "-N", number, disk.path), ", +\n"),
        (("partx", "--update", disk.path), ""),
        (("mkfs.ext4", "-q", "-L", "root", "-E", "nodiscard,lazy_itable_init=1", device), ""),
    ):
        _check(await machine.ask(command, deadline_s=_DEADLINE_S, feed=feed), command, disk.path)


async def release_mounts(machine: Machine) -> None:
    """Unmount what an installer that was killed has left mounted."""
    for place in _left_places(machine.root):
        await _unmount(machine, str(place), place)
        with contextlib.suppress(OSError):
            place.rmdir()


def _left_places(root: Path) -> list[Path]:
    return sorted((root / "run").glob(f"{_PREFIX}*"))


@asynccontextmanager
async def mount(machine: Machine, device: str, *options: str) -> AsyncIterator[Path]:
    """Mount a partition at a place of its own."""
    place = _make_place(machine.root)
    try:
        command = ("mount", *options, device, str(place))
        # Cancelled in between, it may be mounted already, and so it is unmounted in any case.
        try:
            _check(await machine.ask(command, deadline_s=_DEADLINE_S), command, device)
            yield place
        finally:
            await _until_over(_unmount(machine, device, place))
    finally:
        with contextlib.suppress(OSError):
            place.rmdir()


def _make_place(root: Path) -> Path:
    try:
        (root / "run").mkdir(exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root / "run"))
    except OSError as error:
        raise cannot("make a folder in", root / "run", error) from error


async def _unmount(machine: Machine, device: str, place: Path) -> None:
    if not _is_mounted(place):
        return
    said = await machine.ask(("umount", str(place)), deadline_s=_DEADLINE_S)
    if said.is_ok:
        return
    # Somebody still looks at it: it goes as soon as that ends, and what was written goes to the disk now.
    await machine.ask(("sync", "--file-system", str(place)), deadline_s=_DEADLINE_S)
    lazy = ("umount", "--lazy", str(place))
    _check(await machine.ask(lazy, deadline_s=_DEADLINE_S), lazy, device)


def _is_mounted(place: Path) -> bool:
    return place.is_mount()


async def _until_over(work: Coroutine[Any, Any, None]) -> None:
    """See something to its end, even if we are told in the meantime that nobody waits."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


def _check(said: Said, command: Sequence[str], what: str) -> None:
    if not said.is_ok:
        raise ExternalError(
            f"{command[0]} failed for {what}: {said.trouble}", hint=f"the command was: {shlex.join(command)}"
        )
