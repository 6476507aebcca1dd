# SPDX-License-Identifier: Apache-2.0
"""Carries out `muster release save` and `load`."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from muster.cli import progress
from muster.cli.loop import run_async
from muster.cli.mirroring import Wish, carry_out, gather_needs
from muster.errors import ExternalError, UserError
from muster.files import follow_link
from muster.frozen import dataclass
from muster.release.in_store import StoreSource
from muster.release.kinds.description import Description
from muster.release.kinds.reading import describe
from muster.release.kinds.stored import find_releases
from muster.release.mirror.ends import InStore, parse_end
from muster.release.mirror.needs import Need
from muster.release.mirror.opened import needs_of, needs_with_signature, open_stored
from muster.release.mirror.sides import FromStore, ToStore
from muster.release.mirror.survey import Finding, survey
from muster.release.oci.client import Settings
from muster.release.oci.manifest import Descriptor
from muster.release.store.exchange.bring import bring_images
from muster.release.store.exchange.names import settle_names
from muster.release.store.exchange.opening import open_source
from muster.release.store.exchange.save import new_file, save_archive
from muster.release.store.store import Store, create_store, open_store
from muster.signature import PrivateKey


@dataclass(frozen=True)
class Loaded:
    """What came out of an archive."""

    releases: tuple[Description, ...]
    images: int
    new_bytes: int
    failed: Mapping[str, str]
    """Images that did not come, and why."""
    missing: tuple[Finding, ...]
    """Images that the releases need and that are not in the store."""


def gathering(file: Path) -> Path:
    """Where the images come together that are written into a file."""
    return Path(f"{file.absolute()}.store")


def save_release(wish: Wish, file: Path, settings: Settings, *, force: bool) -> tuple[int, int]:
    """Write a release into a file: how many images, and how many bytes."""
    if file.suffix != ".tar":
        raise UserError(f"{file} is not called like an archive", hint="let its name end with .tar")
    source = parse_end(wish.source)
    if isinstance(source, InStore):
        with new_file(follow_link(file), replace=force) as write:
            images = stored_images(source, wish)
            size = save_archive(open_store(source.path), images, write, docker=False, progress=progress)
        return len(images), size
    gathered = gathering(file)
    with new_file(follow_link(file), replace=force) as write:
        refuse_incomplete(carry_out(wish, settings).outcome.missing)
        store = open_store(gathered)
        images = stored_images(InStore(gathered), wish)
        size = save_archive(store, images, write, docker=False, progress=progress)
    with contextlib.suppress(OSError):
        shutil.rmtree(gathered)
    return len(images), size


def load_release(file: Path, place: Path, key: PrivateKey | None = None) -> Loaded:
    """Bring the releases of an archive into a store, and prove that they are whole."""
    spool = place if place.is_dir() else place.absolute().parent
    with open_source(file, spool) as opened:
        chosen = settle_names(opened.images())
        if not chosen:
            raise UserError(f"there are no images in {file}", hint=f"it is {opened.kind}, and empty")
        store = create_store(place, key=key)
        brought = bring_images(store, opened, chosen, progress)
    came = {found.image.digest for found in chosen.values()}

    async def prove() -> tuple[list[Description], list[Need]]:
        found = [each for each in find_releases(store) if each.image.digest in came]
        releases = [
            await describe(StoreSource(store, each.image, str(each.reference)), each.reference)
            for each in found
        ]
        return releases, [need for each in releases for need in _flat(needs_of(each))]

    releases, needs = run_async(prove)
    if not releases and not brought.failed:
        raise UserError(
            f"{file} holds no release, only images; they are in {place} now",
            hint="`muster store import` is for images alone; get an archive of `muster release save`",
        )
    missing = _missing(store, needs)
    return Loaded(tuple(releases), len(brought.images), brought.new_bytes, brought.failed, missing)


def _flat(needs: tuple[Need, tuple[Need, ...]]) -> tuple[Need, ...]:
    return needs[0], *needs[1]


def stored_images(source: InStore, wish: Wish, architecture: str = "") -> dict[str, Descriptor]:
    """All images that belong to a release in a store, by the names that they have in a copy."""

    async def gather() -> tuple[Need, ...]:
        opened = open_stored(source, architecture)
        release = await opened.describe(architecture)
        return gather_needs(await needs_with_signature(opened, release), wish)

    needs, store = run_async(gather), open_store(source.path)
    refuse_incomplete(_missing(store, needs))
    place = ToStore(store)
    return {str(place.place(need)): _image(store, need) for need in needs}


def _image(store: Store, need: Need) -> Descriptor:
    if need.image.digest is not None:
        return store.manifest(need.image.digest).descriptor
    found = store.contents().find(need.image.repository, need.image.tag)
    assert found is not None
    return found


def _missing(store: Store, needs: list[Need] | tuple[Need, ...]) -> tuple[Finding, ...]:
    """What is not in a store; by what name it is there does not matter."""
    findings = run_async(lambda: survey(needs, FromStore(store), ToStore(store)))
    return tuple(each for each in findings if each.trouble or each.absent or each.lacking)


def refuse_incomplete(missing: tuple[Finding, ...]) -> None:
    """An error that names what a release lacks, if it lacks anything."""
    if missing:
        lines = "".join(
            f"\n  {each.need.image}, needed by {', '.join(each.need.needed_by)}: {each.reason}"
            for each in missing
        )
        raise ExternalError(
            f"the release is not whole, so nothing is written; {len(missing)} images are missing:{lines}",
            hint="copy the release again with `muster release mirror`, or get it from elsewhere",
        )
