# SPDX-License-Identifier: Apache-2.0
"""Carries out `muster release mirror`: opens both sides, gathers what belongs to the copy, and copies it."""

from __future__ import annotations

from pathlib import Path

from muster.cli import log, progress
from muster.cli.base_image import open_cache
from muster.cli.loop import run_async
from muster.config.formats.images import registry_fault
from muster.errors import UserError
from muster.frozen import dataclass
from muster.image.cache.memory import release_memory
from muster.release.kinds.description import Description
from muster.release.mirror.ends import AtRegistry, End, InStore, Prefix, parse_end
from muster.release.mirror.needs import Need, load_needs, merge_needs, settle_tags
from muster.release.mirror.notice import Notice, notice_of
from muster.release.mirror.opened import Opened, needs_with_signature, open_remote, open_stored
from muster.release.mirror.run import Order, Outcome, mirror
from muster.release.mirror.sides import Destination, ToRegistry, ToStore
from muster.release.oci.client import Client, Settings, open_client
from muster.release.oci.reference import parse_reference
from muster.release.store.store import LAYOUT, Store, create_store
from muster.signature import PrivateKey


@dataclass(frozen=True)
class Wish:
    """What is to be copied, and how."""

    source: str
    target: str
    images: tuple[str, ...] = ()
    manifests: tuple[Path, ...] = ()
    served_at: str = ""
    cache_dir: str | None = None
    is_dry: bool = False
    key: PrivateKey | None = None
    """Signs what a store holds."""


@dataclass(frozen=True)
class Done:
    """What came of it."""

    release: Description
    outcome: Outcome
    destination: str
    notice: Notice | None
    """None when nobody knows where hosts will find it."""


def carry_out(wish: Wish, settings: Settings) -> Done:
    """Copy a release."""
    source, target = parse_end(wish.source), parse_end(wish.target)
    prefix = _prefix(wish, target)
    _extras(wish)  # What is wrong with files is told before anybody is asked.

    async def work() -> Done:
        async with open_client(settings) as client:
            opened = _open(source, client)
            with open_cache(wish.cache_dir) as cache:
                release = await opened.describe(memory=release_memory(cache))
            log.note("release %s %s: %s", release.kind, release.version, release.image)
            needs = gather_needs(await needs_with_signature(opened, release), wish)
            destination = _destination(target, client, wish)
            order = Order(needs[0], needs[1:], opened.origin, destination, progress, is_dry=wish.is_dry)
            outcome = await mirror(order)
        notice = notice_of((need.image for need in needs), prefix) if prefix else None
        return Done(release, outcome, destination.shown, notice)

    return run_async(work)


def gather_needs(release: tuple[Need, ...], wish: Wish) -> tuple[Need, ...]:
    """All images that belong to a copy, the release's own first."""
    return settle_tags(merge_needs((*release, *_extras(wish))))


def _prefix(wish: Wish, target: End) -> Prefix | None:
    """Where hosts find the images."""
    if isinstance(target, AtRegistry):
        if wish.served_at:
            raise UserError("--served-at is for stores: a registry is where it is", hint="leave the flag out")
        return target.prefix()
    if target.name:
        raise UserError(f"{wish.target} names an image, not a place for one", hint="name the store alone")
    if not wish.served_at:
        return None
    fault = registry_fault(wish.served_at)
    if fault:
        raise UserError(f"--served-at: {fault}", hint="write it as registry.example.com:5000")
    return Prefix(wish.served_at)


def _extras(wish: Wish) -> tuple[Need, ...]:
    named = (Need(parse_reference(image), ("--image",)) for image in wish.images)
    return (*named, *(need for path in wish.manifests for need in load_needs(path)))


def _open(source: End, client: Client) -> Opened:
    return open_stored(source) if isinstance(source, InStore) else open_remote(source, client)


def _destination(target: End, client: Client, wish: Wish) -> Destination:
    if isinstance(target, AtRegistry):
        return ToRegistry(client, target.prefix())
    # What is only asked for is not made.
    is_new = not (target.path / LAYOUT).exists()
    return ToStore(Store(target.path) if wish.is_dry and is_new else create_store(target.path, key=wish.key))
