# SPDX-License-Identifier: Apache-2.0
"""One bundle of a whole site: the service is asked, then all hosts at once; who is silent is told of, too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

from muster.client.calls import open_calls
from muster.client.target import Target
from muster.errors import ExternalError, MusterError
from muster.frozen import dataclass
from muster.release.off_loop import off_loop
from muster.support.archive import unpack
from muster.support.asking import TROUBLE, Told, ask_service
from muster.support.reaching import Known, Reach, choose, fetch_bundle, folder_name, join_known
from muster.support.room import Kept
from muster.support.sink import Sink
from muster.units import render_size

_AT_ONCE: Final = 8
Extra = Callable[[Sink], Awaitable[Kept]]
"""Collects something else, such as what a lab has recorded."""


@dataclass(frozen=True)
class Order:
    """Of whom a bundle is to be made."""

    target: Target | str
    """The service; or why it cannot be asked."""
    cluster_id: str
    planned: tuple[Known, ...]
    """The hosts as the site's files have them."""
    wanted: tuple[str, ...]
    reach: Reach
    extras: tuple[tuple[str, Extra], ...] = ()


@dataclass(frozen=True)
class Gathered:
    """What came of it."""

    asked: tuple[tuple[str, str], ...]
    kept: tuple[Kept, ...] = field(default=())


async def gather(order: Order, to: Sink, tell: Callable[[str], None]) -> Gathered:
    """Ask everybody; an error only when nobody at all had something to give."""
    asked: list[tuple[str, str]] = []
    told = await _ask_service(order, to.below("service"))
    asked.append(("service", told.trouble or "answered"))
    tell(f"service: {told.trouble or 'answered'}")
    hosts = choose(join_known(order.planned, told.hosts), order.wanted)
    turns = asyncio.Semaphore(_AT_ONCE)
    results = await asyncio.gather(*(_ask_host(each, order.reach, to, turns, tell) for each in hosts))
    asked += [(host.name, words) for host, (words, _) in zip(hosts, results, strict=True)]
    kept = [*told.kept, *(each for _, each in results if each is not None)]
    something = not told.trouble or any(each is not None for _, each in results)
    for name, extra in order.extras:
        words, found = await _ask_extra(extra, to.below(name))
        asked.append((name, words))
        kept += [found] if found is not None else []
        something = something or found is not None
    if not something:
        silent = "; ".join(f"{who}: {what}" for who, what in asked)
        raise ExternalError(
            f"nothing could be gathered: {silent}",
            hint="check the way to the hosts from this machine, and the key with --key; "
            "or run `muster host bundle` at a host's console",
        )
    return Gathered(tuple(asked), tuple(kept))


async def _ask_service(order: Order, to: Sink) -> Told:
    if isinstance(order.target, str):
        told = Told(order.target)
    else:
        async with open_calls(order.target) as calls:
            told = await ask_service(calls, order.cluster_id, to)
    if told.trouble:
        await to.keep_text(TROUBLE, f"{told.trouble}\n")
    return told


async def _ask_host(
    host: Known, reach: Reach, to: Sink, turns: asyncio.Semaphore, tell: Callable[[str], None]
) -> tuple[str, Kept | None]:
    """What is to be told of a host, and what was kept of it; None when nothing was."""
    place, file = to.below(f"hosts/{folder_name(host.name)}"), to.folder / f"{folder_name(host.name)}.raw"
    async with turns:
        tell(f"{host.name}: asking {', '.join(host.addresses) or 'where it is'}")
        try:
            trouble = to.clean(await fetch_bundle(host, reach, file))
            size = await off_loop(_size, file)
            found = await off_loop(_unpack, file, place) if size else None
        finally:
            file.unlink(missing_ok=True)
    if found is None or not _has_files(place.folder):
        await place.keep_text(TROUBLE, f"{trouble or 'what it sent is no bundle'}\n")
        words, found = f"silent: {trouble or 'what it sent is no bundle'}", None
    else:
        words = f"{render_size(size)}, but {trouble}" if trouble else render_size(size)
    tell(f"{host.name}: {words}")
    return words, found


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _unpack(file: Path, place: Sink) -> Kept:
    with file.open("rb") as opened:
        kept = unpack(opened, place.folder, place.clean, place.room)
    prefix = f"hosts/{place.folder.name}"
    return Kept(tuple((f"{prefix}: {name}", why) for name, why in kept.missed), kept.left_out)


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


async def _ask_extra(extra: Extra, to: Sink) -> tuple[str, Kept | None]:
    try:
        kept = await extra(to)
    except MusterError as error:
        return error.message, None
    return "kept", kept


def known_words(*words: Sequence[str]) -> tuple[str, ...]:
    """Secrets that are known word by word, the longest first: one may be a part of another."""
    found = {word for each in words for word in each if len(word) > 7}
    return tuple(sorted(found, key=lambda word: (-len(word), word)))
