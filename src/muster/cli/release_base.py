# SPDX-License-Identifier: Apache-2.0
"""The base image out of a release: which release, how it is reached, and what its hosts boot."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Final

from muster.cli import log, progress
from muster.cli.access import AccessFlags, settings_of
from muster.cli.base_image import Wish
from muster.cli.loop import run_async
from muster.cli.options import BaseImageFlags
from muster.config.kinds import ADD_ONS_FILE
from muster.errors import MusterError
from muster.image.base_image import BaseImage, obtain_base_image
from muster.image.cache.memory import release_memory
from muster.image.cache.records import ImageRecord
from muster.image.cache.store import Cache
from muster.image.release_image import Wanted, fetch, obtain
from muster.model.release import RPM_ARCHITECTURES, os_image_streams
from muster.release.chosen import check_chosen
from muster.release.kinds.description import Description
from muster.release.kinds.known import kind_of
from muster.release.kinds.stored import choose_release, find_releases
from muster.release.mirror.ends import AtRegistry, InStore, parse_end
from muster.release.mirror.opened import Opened, open_remote, open_stored
from muster.release.oci.client import open_client
from muster.release.store.store import open_store

_logger: Final = logging.getLogger(__name__)


def obtain_from_release(flags: BaseImageFlags, cache: Cache, wish: Wish) -> BaseImage:
    """The live ISO of the release that a flag or the site names, for the site's architecture."""
    release = run_async(lambda: _describe(flags, cache, wish))
    _logger.debug("release %s %s: %s", release.kind, release.version, release.image)
    check_chosen(release.offers, wish.add_ons, ADD_ONS_FILE)
    rpm = RPM_ARCHITECTURES.get(wish.architecture, wish.architecture)
    live = kind_of(release).live_image(release, wish.stream or _stream(release), rpm)
    if live is None:
        log.say(
            "release %s %s carries no base image: its hosts boot the machine OS",
            release.kind,
            release.version,
        )
        return obtain_machine_os(flags, cache, wish.architecture)
    wanted = Wanted(live, wish.architecture, release.version)
    return obtain(wanted, cache, progress, lambda: run_async(lambda: _fetch(wanted, flags, cache, wish)))


async def _describe(flags: BaseImageFlags, cache: Cache, wish: Wish) -> Description:
    async with AsyncExitStack() as stack:
        opened = await _open(flags, wish, stack)
        return await opened.describe(wish.architecture, release_memory(cache))


async def _fetch(wanted: Wanted, flags: BaseImageFlags, cache: Cache, wish: Wish) -> ImageRecord:
    async with AsyncExitStack() as stack:
        opened = await _open(flags, wish, stack)
        source = await opened.origin.source(wanted.live.part.image)
        return await fetch(wanted, source, cache, progress)


def _stream(release: Description) -> str:
    return next(iter(os_image_streams(release.version)), "")


async def _open(flags: BaseImageFlags, wish: Wish, stack: AsyncExitStack) -> Opened:
    """The release that is meant, at a registry or in a store."""
    end = parse_end(flags.release) if flags.release else AtRegistry(wish.release)
    if isinstance(end, InStore):
        return open_stored(end, wish.architecture)
    settings = settings_of(AccessFlags(ca_bundle=flags.ca_bundle), wish.access)
    return open_remote(end, await stack.enter_async_context(open_client(settings)))


def named_image(flags: BaseImageFlags, architecture: str) -> str:
    """The image that --release names, as a site's files would name it."""
    end = parse_end(flags.release)
    if isinstance(end, AtRegistry):
        return str(end.image())
    found = choose_release(open_store(end.path), end.name, architecture)
    return str(replace(found.reference, digest=found.image.digest))


def release_names(flags: BaseImageFlags) -> tuple[str, ...]:
    """What the releases are called that --release can mean; none when they cannot be looked at yet."""
    try:
        end = parse_end(flags.release)
        if isinstance(end, AtRegistry):
            return (str(end.image()),)
        found = find_releases(open_store(end.path))
    except MusterError:
        return ()
    names = (str(each.reference) for each in found)
    return tuple(name for name in names if not end.name or end.name in name)


def default_release(architecture: str) -> str:
    """The name of the release that this Muster builds."""
    from muster.release.build.reading import load_recipe
    from muster.release.build.recipe import find_home

    return load_recipe(find_home()).release_name(architecture)


def obtain_machine_os(flags: BaseImageFlags, cache: Cache, architecture: str) -> BaseImage:
    """The live ISO of the machine OS, which is built here as far as it is not."""
    from muster.cli.machine_os import build_machine_os
    from muster.image.download.http import http_fetch

    rpm = RPM_ARCHITECTURES.get(architecture, architecture)
    log.say("the base image is Muster's machine OS for %s; what is not built yet is built now", rpm)
    folder = build_machine_os(flags.cache_dir, rpm)
    return obtain_base_image(str(folder / "live.iso"), cache=cache, fetch=http_fetch(), progress=progress)
