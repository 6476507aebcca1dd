# SPDX-License-Identifier: Apache-2.0
"""Gathers what a console shows: files of the host's programs, its links, the service. It never busies a host.

Files are looked at by their times, links when the kernel tells of a change, the service now and then.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Final

from muster.agent.inventory.cpu import parse_cpuinfo
from muster.agent.inventory.memory import parse_meminfo
from muster.agent.inventory.reading import read_text
from muster.agent.inventory.system_vendor import read_vendor
from muster.agent.meeting.place import MeetingPlace
from muster.board import read_notice
from muster.client.snapshot import ServiceSight
from muster.console.facts import Choice, Facts, HostFacts, Posted, parse_links
from muster.frozen import dataclass
from muster.links import Changes
from muster.machine import Machine
from muster.model.meeting import ENVIRONMENT, parse_meeting
from muster.model.service_card import CARD_FILE, LOGIN_FILE, parse_card, parse_login

_BOARDS: Final = "run/muster"
_ISSUES: Final = "etc/issue.d"
_NOTES: Final = ("50-muster-network.issue", "60-muster-config-image.issue", "70-muster.issue")
"""What scripts of the medium say to whoever stands before the host."""
_ASK_S: Final = 10.0
_AGAIN_S: Final = 10.0
_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pace:
    """How often is looked."""

    files_s: float = 2.0
    links_s: float = 300.0
    """In case that the kernel's word was missed."""
    service_s: float = 5.0
    away_s: float = 10.0
    """While the service does not answer."""


@dataclass(frozen=True)
class Sources:
    """Where all of it comes from."""

    machine: Machine
    look: Callable[[], Awaitable[ServiceSight | None]]
    changes: Changes
    pace: Pace = field(default=Pace())


class Gatherer:
    """What is known, and whether it is new."""

    def __init__(self, sources: Sources) -> None:
        self.facts = Facts()
        self._sources = sources
        self._new = asyncio.Event()
        self._wanted = asyncio.Event()
        self._signature: Any = None

    async def follow(self) -> AsyncIterator[Facts]:
        """What is known, now and whenever it changes."""
        tasks = [
            asyncio.create_task(_for_ever(watch))
            for watch in (self._watch_files, self._watch_links, self._watch_service)
        ]
        self._new.set()  # Whoever begins to follow knows nothing yet.
        try:
            while True:
                await self._new.wait()
                self._new.clear()
                yield self.facts
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def hurry(self) -> None:
        """Look at the service and the links at once: something was changed on purpose."""
        self._wanted.set()
        self._sources.changes.note()

    def _put(self, **changed: Any) -> None:
        facts = replace(self.facts, **changed)
        if facts != self.facts:
            self.facts = facts
            self._new.set()

    async def _watch_files(self) -> None:
        root = self._sources.machine.root
        while True:
            signature = _signature(root)
            if signature != self._signature:
                self._put(**read_files(root))
                self._signature = signature
            await asyncio.sleep(self._sources.pace.files_s)

    async def _watch_links(self) -> None:
        machine, pace = self._sources.machine, self._sources.pace
        while True:
            said = await machine.ask(["ip", "-j", "-d", "address"], deadline_s=_ASK_S)
            if said.is_ok:
                self._put(links=parse_links(said.out), has_links=True)
            await self._sources.changes.wait(pace.links_s)

    async def _watch_service(self) -> None:
        pace = self._sources.pace
        while True:
            sight = await self._sources.look()
            has_cluster = sight is not None and sight.cluster is not None
            self._put(sight=sight, known=sight if has_cluster else self.facts.known)
            answers = sight is not None and sight.trouble is None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pace.service_s if answers else pace.away_s):
                    await self._wanted.wait()
            self._wanted.clear()


async def _for_ever(watch: Callable[[], Awaitable[None]]) -> None:
    """One that fails is no reason that the others stop, nor that it is not tried again."""
    while True:
        try:
            await watch()
        except Exception:
            _logger.warning("the console cannot look at something", exc_info=True)
        await asyncio.sleep(_AGAIN_S)


def _paths(root: Path) -> list[Path]:
    boards = [*(root / _BOARDS).glob("*.json"), root / _BOARDS / LOGIN_FILE, *MeetingPlace(root).paths]
    return sorted([*boards, root / ENVIRONMENT.lstrip("/"), *(root / _ISSUES / each for each in _NOTES)])


def _signature(root: Path) -> tuple[object, ...]:
    """What changes when one of the files does; the name of the host is set while it boots."""
    found: list[object] = [read_text(root / "proc/sys/kernel/hostname")]
    for path in _paths(root):
        with contextlib.suppress(OSError):
            status = path.stat()
            found.append((path.name, status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(found)


def read_files(root: Path) -> dict[str, Any]:
    """What the files of a host say; what cannot be read is not there."""
    meeting = parse_meeting(read_text(root / ENVIRONMENT.lstrip("/")))
    return {
        "host": read_host(root),
        "boards": tuple(
            Posted(path.stem, notice)
            for path in sorted((root / _BOARDS).glob("*.json"))
            if (notice := read_notice(path)) is not None
        ),
        "meeting": meeting,
        "code": parse_login(_read_bytes(root / _BOARDS / LOGIN_FILE)),
        "card": parse_card(_read_bytes(root / _BOARDS / CARD_FILE)),
        "choice": read_choice(root, has_meeting=meeting is not None),
        "notes": tuple(
            line.strip()
            for name in _NOTES
            for line in read_text(root / _ISSUES / name).splitlines()
            if line.strip()
        ),
    }


def read_choice(root: Path, *, has_meeting: bool) -> Choice | None:
    """What was chosen where that is up to people; a configuration medium settles it without them."""
    place = MeetingPlace(root)
    if not place.is_generic:
        return None
    found = Choice(place.load_standing(), place.load_found())
    return None if found.is_open and has_meeting else found


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def read_host(root: Path) -> HostFacts:
    """What a host is."""
    vendor = read_vendor(root / "sys/class/dmi/id", None)
    return HostFacts(
        name=read_text(root / "proc/sys/kernel/hostname"),
        model=" ".join(each for each in (vendor.manufacturer, vendor.product_name) if each),
        serial=vendor.serial_number or "",
        cpus=parse_cpuinfo(read_text(root / "proc/cpuinfo")).count or 0,
        memory_bytes=parse_meminfo(read_text(root / "proc/meminfo")) or 0,
    )
