# SPDX-License-Identifier: Apache-2.0
"""Looks at the releases of a store: which there are, what they hold, and whether all of it is there."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Iterator
from typing import IO, Any, Final, cast

from muster.errors import MediaError, MusterError, UserError
from muster.frozen import dataclass
from muster.progress import Advance
from muster.release.model import KIND_ANNOTATION, RELEASE_FILE, Release
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor, Manifest
from muster.release.store.blobs import CHUNK
from muster.release.store.store import Store
from muster.release.text import parse_release

_LARGEST: Final = 64 << 20
"""What a release may say of itself; more is not read."""


@dataclass(frozen=True)
class Found:
    """A release in a store."""

    name: str
    image: Descriptor


@dataclass(frozen=True)
class Flaw:
    """Something that a release needs and that is not right."""

    digest: Digest
    what: str
    needed_by: tuple[str, ...]
    """Names of images."""


def find_releases(store: Store) -> list[Found]:
    """All releases that have a name, in the order of their names."""
    found = []
    for name, image in sorted(store.contents().images.items()):
        try:
            manifest = store.manifest(image.digest)
        except MusterError:
            continue  # What cannot be read is for `verify` to tell.
        if KIND_ANNOTATION in manifest.annotations:
            found.append(Found(name, image))
    return found


def choose_release(store: Store, wanted: str, architecture: str) -> Found:
    """The release that is meant by a name, a tag, a version or a digest; else the one for a machine."""
    there = find_releases(store)
    fits = [each for each in there if not wanted or wanted in _words(each)]
    if len(fits) > 1:
        fits = [each for each in fits if each.name.endswith(f"-{architecture}")] or fits
    if len(fits) == 1:
        return fits[0]
    names = ", ".join(each.name for each in (fits or there))
    if not there:
        raise UserError(f"there is no release in {store.root}", hint="`muster release build` makes one")
    if not fits:
        raise UserError(f"there is no release {wanted!r} in {store.root}", hint=f"it has: {names}")
    raise UserError(f"there are several releases in {store.root}", hint=f"name one of: {names}")


def _words(found: Found) -> tuple[str, ...]:
    tag = found.name.rpartition(":")[2]
    return found.name, tag, tag.rpartition("-")[0], found.image.digest


def load_release(store: Store, found: Found) -> Release:
    """What a release says of itself."""
    return parse_release(_read_file(store, store.manifest(found.image.digest), found.name), found.name)


def add_ons_of(store: Store, name: str) -> tuple[str, ...]:
    """The add-ons of the release of a name; none when it is not there."""
    found = next((each for each in find_releases(store) if each.name == name), None)
    return tuple(each.id for each in load_release(store, found).add_ons) if found else ()


def closure(store: Store, release: Release, found: Found) -> Iterator[tuple[str, Descriptor]]:
    """All that belongs to a release, as the name of an image and each of its parts; all has to be there."""
    for name, image in _images(release, found):
        for part in store.walk(image):
            yield name, part


def find_flaws(
    store: Store, release: Release, found: Found, *, full: bool, advance: Advance = lambda _count: None
) -> list[Flaw]:
    """What is missing or damaged of a release: by size, or by every byte."""
    needed: dict[Digest, tuple[Descriptor, list[str]]] = {}
    flaws: list[Flaw] = []
    for name, image in _images(release, found):
        try:
            for part in store.walk(image):
                needed.setdefault(part.digest, (part, []))[1].append(name)
        except MusterError as error:
            flaws.append(Flaw(image.digest, error.message, (name,)))
    for digest, (part, names) in needed.items():
        what = _judge(store, part, full=full)
        advance(part.size_bytes)
        if what:
            flaws.append(Flaw(digest, what, tuple(names)))
    return flaws


def _images(release: Release, found: Found) -> Iterator[tuple[str, Descriptor]]:
    yield found.name, found.image
    for image in release.images:
        yield image.tagged, image.image


def _judge(store: Store, part: Descriptor, *, full: bool) -> str:
    size = store.blobs.size(part.digest)
    if size is None:
        return f"the blob {part.digest} is not there"
    if size != part.size_bytes:
        return f"the blob {part.digest} has {size} bytes instead of {part.size_bytes}"
    if not full:
        return ""
    whole = hashlib.sha256()
    try:
        with store.blobs.open(part.digest) as file:
            while chunk := file.read(CHUNK):
                whole.update(chunk)
    except OSError as error:
        return f"the blob {part.digest} cannot be read: {(error.strerror or str(error)).lower()}"
    if f"sha256:{whole.hexdigest()}" != part.digest:
        return f"the blob {part.digest} is damaged: its content is not what its name says"
    return ""


def _read_file(store: Store, manifest: Manifest, origin: str) -> bytes:
    """release.json, out of the only layer of a release's image."""
    import tarfile  # Slow, and most commands never come here.

    bad = MediaError(
        f"{origin} holds no {RELEASE_FILE} that can be read", hint="build or copy that release again"
    )
    try:
        layer = store.blobs.read(manifest.layers[0].digest, _LARGEST)
        with (
            _unpack(layer) as unpacked,
            tarfile.open(fileobj=cast("IO[bytes]", unpacked), mode="r|") as tar,
        ):
            for member in tar:
                file = tar.extractfile(member) if member.name == RELEASE_FILE else None
                if file is not None:
                    return file.read(_LARGEST)
    except (tarfile.TarError, OSError, EOFError, IndexError, _zstd().ZstdError) as error:
        raise bad from error
    raise bad


def _unpack(layer: bytes) -> Any:
    return _zstd().open(io.BytesIO(layer))


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    return zstd
