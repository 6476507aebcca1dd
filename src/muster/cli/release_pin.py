# SPDX-License-Identifier: Apache-2.0
"""The digest and the signature of a release, looked up when a medium for it is made."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from muster.cli import log
from muster.cli.access import AccessFlags, settings_of
from muster.cli.base_image import Wish
from muster.cli.loop import run_async
from muster.cli.options import BaseImageFlags
from muster.cli.release_place import store_place
from muster.errors import MusterError, UserError
from muster.frozen import dataclass
from muster.model.release import OPENSHIFT, kind_of_image
from muster.release.at_registry import RegistrySource
from muster.release.image_signature import require_signature
from muster.release.in_store import StoreSource
from muster.release.kinds.stored import find_releases
from muster.release.mirror.ends import InStore, parse_end
from muster.release.model import KIND_ANNOTATION
from muster.release.oci.client import open_client
from muster.release.oci.patience import Patience
from muster.release.oci.reference import Reference, parse_reference
from muster.release.ports import Source
from muster.release.store.store import LAYOUT, open_store
from muster.signature import load_public_key, parse_public_key, render_public_key


def load_release_key(path: Path | None) -> str:
    """The public key as media have it; empty when none was named."""
    return render_public_key(load_public_key(path)) if path is not None else ""


@dataclass(frozen=True)
class Pinned:
    """A release as a medium names it."""

    image: str
    kind: str = ""
    """Empty when it was not looked at and its name does not tell."""


def pin_release(image: str, flags: BaseImageFlags, wish: Wish, key: str) -> Pinned:
    """The release by its digest; signed, if there is a key.

    A UserError when the digest cannot be looked up and the user did not accept a tag, and when a signature is
    required that no host would check.
    """
    pinned = _pin(image, flags, wish, key)
    if key and pinned.kind == OPENSHIFT:
        raise UserError(
            f"--release-key: hosts that install {pinned.image} do not check its signature: Muster does not"
            " run on the systems of OpenShift yet",
            hint="leave --release-key out; the medium names the release by its digest",
        )
    return pinned


def _pin(image: str, flags: BaseImageFlags, wish: Wish, key: str) -> Pinned:
    reference = parse_reference(image)
    stored = _find_stored(reference, flags)
    if stored is not None:
        return run_async(lambda: _look(stored, reference, key))
    if reference.digest is not None and not key:
        return Pinned(image, kind_of_image(image))
    if flags.release_by_tag:
        _warn(reference, key)
        return Pinned(image, kind_of_image(image))
    return run_async(lambda: _ask(reference, flags, wish, key))


async def _look(source: Source, reference: Reference, key: str) -> Pinned:
    root = await source.root()
    pinned = replace(reference, digest=root.digest)
    if key:
        public = parse_public_key(key.encode(), Path("--release-key"))
        await require_signature(source, pinned, root.digest, public)
    image = await source.manifest(root.manifests[0]) if root.manifests else root
    return Pinned(str(pinned), image.annotations.get(KIND_ANNOTATION, OPENSHIFT))


def find_kind(image: str, flags: BaseImageFlags, wish: Wish) -> str:
    """The kind of a release at its registry or a mirror of the site; empty when it cannot be looked up."""
    try:
        return run_async(lambda: _ask(parse_reference(image), flags, wish, "")).kind
    except MusterError as error:
        log.note("the kind of the release cannot be looked up: %s", error.message)
        return ""


def _warn(reference: Reference, key: str) -> None:
    if reference.digest is not None:
        log.warn("the signature of %s was not checked here; hosts check it", reference)
    elif key:
        log.warn("the medium names the release by its tag, %s; hosts check its signature only", reference)
    else:
        log.warn(
            "the medium names the release by its tag, %s: hosts install what their registry has under it,"
            " and cannot tell whether it was changed",
            reference,
        )


def _find_stored(reference: Reference, flags: BaseImageFlags) -> Source | None:
    """The release in the content store that a flag names, or among those that were built here."""
    own = store_place(None, flags.cache_dir)
    named = parse_end(flags.release) if flags.release else InStore(own)
    if not isinstance(named, InStore) or not (named.path / LAYOUT).exists():
        return None
    store = open_store(named.path)
    bare = str(replace(reference, digest=None))
    for each in find_releases(store):
        names = (str(each.reference), str(replace(each.reference, digest=None)))
        if reference.digest == each.image.digest or (reference.digest is None and bare in names):
            return StoreSource(store, each.image, str(each.reference))
    return None


async def _ask(reference: Reference, flags: BaseImageFlags, wish: Wish, key: str) -> Pinned:
    """By its registry, or the mirrors of the site."""
    settings = settings_of(AccessFlags(ca_bundle=flags.ca_bundle), wish.access)
    async with AsyncExitStack() as stack:
        try:
            quick = replace(settings, patience=Patience(tries=2))
            client = await stack.enter_async_context(open_client(quick))
            source = RegistrySource(client, reference)
            await source.root()
        except MusterError as error:
            raise UserError(
                f"the digest of the release {reference} cannot be looked up: {error.message}",
                hint="name the release by digest (...@sha256:...), or with --release as a content store; or"
                " use --release-by-tag if only hosts can reach the registry: they then install whatever it"
                " has under that tag",
            ) from error
        return await _look(source, reference, key)
