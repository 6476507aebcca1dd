# SPDX-License-Identifier: Apache-2.0
"""What a host starts from, images and programs, gets onto its disk: no registry is needed when it restarts.

While the disk is written it is fetched into memory, as far as there is enough of that.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, MusterError
from muster.model.wire.enums import HostRole, HostStage
from muster.node.bringing import Count, bring
from muster.node.carried import Carried
from muster.node.mounted import mounted
from muster.node.pace import Report, Seen
from muster.node.parts import WrittenDisk
from muster.node.ports import Ports
from muster.node.shelving import copy, holds, prepare, prove, take_out
from muster.node.spoiled import Spoiled
from muster.node.stocking import open_stock, size_of, stock
from muster.node.telling import See, telling
from muster.release.mirror.origins import stores_at
from muster.release.mirror.sides import Origin
from muster.release.node.images import NodeImage, NodeImages, NodeProgram
from muster.release.off_loop import off_loop
from muster.release.store.store import Store, remove_store

_AHEAD: Final = "images"
_PROGRAMS_AHEAD: Final = "programs"
_PART_OF_MEMORY: Final = 4
"""What is fetched ahead takes no more than this part of the memory that is free."""
_AVAILABLE: Final = re.compile(r"^MemAvailable:\s+([0-9]+) kB$", re.MULTILINE)
_PATIENCE_S: Final = 10 * 60.0
"""So long nothing new may come."""
_AGAIN_S: Final = 10.0
_MOST_SPOILED: Final = 3


def stage_for(role: HostRole) -> HostStage:
    """The stage that it belongs to; a worker has none of its own for it."""
    return "Writing image to disk" if role == "worker" else "Copying registry data to disk"


def choose_ahead(images: NodeImages, budget: int) -> NodeImages:
    """Which programs and images fit into so much memory, all together."""

    def fits(each: NodeImage | NodeProgram) -> bool:
        nonlocal budget
        size = each.size_bytes + (each.image.size_bytes if isinstance(each, NodeProgram) else 0)
        if size > budget:
            return False
        budget -= size
        return True

    programs = tuple(filter(fits, images.programs))
    return NodeImages(tuple(filter(fits, images.images)), programs)


def memory_budget(root: Path) -> int:
    """How many bytes of memory may be used."""
    try:
        found = _AVAILABLE.search((root / "proc/meminfo").read_text("ascii"))
    except (OSError, ValueError):
        return 0
    return int(found[1]) * 1024 // _PART_OF_MEMORY if found else 0


@asynccontextmanager
async def preloading(carried: Carried, ports: Ports, stage: HostStage) -> AsyncIterator[Preload]:
    """What copies the images of a host; when the context ends nothing goes on in the background."""
    async with ports.open_origins(ports.machine.root, carried.settings) as origins:
        preload = Preload(carried.images, ports, stage, origins)
        try:
            yield preload
        finally:
            await preload.stop()


class Preload:
    """The images of a host, on their way to its disk. See `preloading`."""

    def __init__(self, images: NodeImages, ports: Ports, stage: HostStage, origins: Sequence[Origin]) -> None:
        self._images, self._ports, self._stage, self._origins = images, ports, stage, origins
        self._folder, self._programs = ports.folder / _AHEAD, ports.folder / _PROGRAMS_AHEAD
        self._ahead: asyncio.Task[None] | None = None
        self._see: See = _ignore

    def begin(self) -> None:
        """Fetch what fits into memory, beside other work. Whether that works out is seen later."""
        chosen = choose_ahead(self._images, memory_budget(self._ports.machine.root))
        if chosen != NodeImages() and self._ahead is None:
            self._ahead = asyncio.create_task(self._fetch(chosen))

    async def stop(self) -> None:
        """Fetch nothing any more."""
        if self._ahead is not None:
            self._ahead.cancel()
            await asyncio.wait({self._ahead})

    async def _fetch(self, images: NodeImages) -> None:
        try:
            store = await open_stock(images, self._folder)
            for program in images.programs:
                count = _count(self._saw, program.image.size_bytes)
                await take_out(program, self._origins, store, self._programs, count)
            count = _count(self._saw, images.size_bytes)
            await bring(images.images, self._origins, store, count)
        except MusterError as error:
            await self._ports.reporter.warn(f"images cannot be fetched yet: {error.message}")

    def _saw(self, seen: Seen) -> None:
        self._see(seen)

    async def place(self, disk: WrittenDisk) -> None:
        """Put all of it onto the disk, and prove that it is there."""
        if self._images == NodeImages():
            return
        ports = self._ports
        await ports.reporter.stage(self._stage, "what this host starts from")
        if self._ahead is not None:
            async with self._telling("fetching images") as self._see:
                await self._ahead
        async with mounted(ports.machine, disk) as system:
            store = await open_stock(self._images, system.images)
            await off_loop(prepare, system.programs, self._images, store)
            await self._patiently(store, system.programs)
        await off_loop(remove_store, self._folder)
        await off_loop(shutil.rmtree, self._programs, ignore_errors=True)

    async def _patiently(self, store: Store, programs: Path) -> None:
        """With patience: a registry may restart, and a cable be plugged in again."""
        ports, origins = self._ports, (*stores_at(self._folder), *self._origins)
        until, there, spoiled = ports.clock() + _PATIENCE_S, 0, 0
        while True:
            try:
                for program in self._images.programs:
                    await self._shelve(program, origins, store, programs)
                return await stock(self._images, origins, store, self._bar)
            except ExternalError as error:
                spoiled += isinstance(error, Spoiled)
                if ports.clock() >= until or spoiled == _MOST_SPOILED:
                    raise _given_up(error) from error
                await ports.reporter.stage(self._stage, f"trying again soon: {error.message}")
            await ports.pause(_AGAIN_S)
            now = await off_loop(size_of, store)
            if now > there:
                until, there = ports.clock() + _PATIENCE_S, now

    async def _shelve(
        self, program: NodeProgram, origins: Sequence[Origin], store: Store, folder: Path
    ) -> None:
        """Put a program onto the disk, out of memory if it is there, and read it back."""
        if await holds(folder, program):
            return
        near = self._programs / program.sha256
        if await off_loop(near.exists):
            await off_loop(copy, near, folder / near.name)
        else:
            async with self._bar("taking programs out of their image", program.image.size_bytes) as count:
                await take_out(program, origins, store, folder, count)
        await prove(folder, program)

    @asynccontextmanager
    async def _bar(self, what: str, total: int) -> AsyncIterator[Count]:
        async with self._telling(what) as see:
            yield _count(see, total)

    @asynccontextmanager
    async def _telling(self, what: str) -> AsyncIterator[See]:
        async def tell(report: Report) -> None:
            await self._ports.reporter.stage(self._stage, f"{what}: {report.info}")

        async with telling(tell, self._ports.clock) as see:
            yield see


def _count(see: See, total: int) -> Count:
    """What threads count is seen in the loop."""
    loop = asyncio.get_running_loop()

    def tell(done: int) -> None:
        seen = min(done, total)
        loop.call_soon_threadsafe(see, Seen(seen, total, 100 * seen // max(total, 1)))

    return Count(tell)


def _given_up(error: ExternalError) -> ExternalError:
    return ExternalError(
        f"what this host starts from is not on its disk: {error.message}",
        hint=error.hint or "mend that, then install again; what was copied stays",
    )


def _ignore(_seen: Seen) -> None:
    pass
