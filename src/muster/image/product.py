# SPDX-License-Identifier: Apache-2.0
"""Writes finished media: the image, its checksum, what it is made of, and a signature if asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.image.base_image import BaseImage
from muster.image.cache.store import Cache
from muster.image.checksum import SIGNATURE_SUFFIX, SUFFIX, load_leaves, render_checksum
from muster.image.copy import Saving, check_space, write_image, write_stream
from muster.image.draft import Draft
from muster.image.iso.volume import Volume
from muster.image.overlay import Overlay, Pread
from muster.image.progress import Progress, by_total
from muster.image.sbom import Component, render_sbom
from muster.image.signature import PrivateKey, sign
from muster.image.verity import hash_leaves

SBOM_SUFFIX: Final = ".cdx.json"
IMAGE_MODE: Final = 0o600
"""A medium holds secrets."""


@dataclass(frozen=True)
class Bill:
    """What the bill of materials says besides what is the same for all media."""

    parts: tuple[Component, ...]
    created: int
    properties: Mapping[str, str]


@dataclass(frozen=True)
class Papers:
    """What comes with an image: who signs it, and what it is made of."""

    bill: Bill
    key: PrivateKey | None = None

    def render(self, name: str, digest: bytes, sha256: str = "") -> Iterator[tuple[str, bytes]]:
        """The files beside an image of this name and digest."""
        checksum = render_checksum(digest, name)
        properties = {"fs-verity": f"sha256:{digest.hex()}", **self.bill.properties}
        medium = Component("file", name, sha256=sha256, properties=properties)
        yield f"{name}{SUFFIX}", checksum
        yield f"{name}{SBOM_SUFFIX}", render_sbom(medium, self.bill.parts, self.bill.created)
        if self.key is not None:
            yield f"{name}{SIGNATURE_SUFFIX}", sign(self.key, checksum)


def paper_names(name: str, *, signed: bool) -> tuple[str, ...]:
    """The names of the files beside an image."""
    return (f"{name}{SUFFIX}", f"{name}{SBOM_SUFFIX}", *((f"{name}{SIGNATURE_SUFFIX}",) if signed else ()))


def base_component(base: BaseImage, label: str) -> Component:
    """The base image as a part of a medium."""
    name = label or "live image"
    return Component("operating-system", name, sha256=base.sha256, properties={"origin": base.origin})


@dataclass(frozen=True)
class Source:
    """An open base image, and where what is known about it is kept."""

    base: BaseImage
    volume: Volume
    cache: Cache
    draft: Draft | None = None
    """A copy of it that was begun ahead."""

    def with_draft(self, draft: Draft | None) -> Source:
        """The same, and a copy that was begun ahead."""
        return replace(self, draft=draft)


def digest_customized(source: Source, overlay: Overlay, progress: Progress) -> bytes:
    """The fs-verity digest of the base image with its changes, before it is written."""
    read = source.volume.read
    leaves = load_leaves(source.cache, source.base.sha256, read, source.base.size_bytes, progress)
    return leaves.digest_with(overlay, read)


def save_customized(source: Source, overlay: Overlay, target: Path, progress: Progress) -> None:
    """Copy the base image with its changes, or finish a copy that was begun ahead."""
    base, draft = source.base.path, source.draft
    with progress.bar(f"writing {target.name}", total=overlay.size) as advance:
        saving = Saving(IMAGE_MODE, durable=False, progress=by_total(advance))
        if draft is None or not draft.finish(base, overlay, target, saving):
            write_image(base, overlay, target, saving)


def check_target(source: Source, target: Path, size: int) -> None:
    """Refuse, before anything is written, to replace the base image, or to begin what does not fit."""
    if target.exists() and target.samefile(source.base.path):
        raise UserError(
            f"{target} is the base image itself, and would be replaced",
            hint="move the base image elsewhere, or name another site directory with --dir",
        )
    if source.draft is None:
        check_space(target, size)


def save_stream(pread: Pread, size: int, target: Path, progress: Progress) -> bytes:
    """Write an image that is put together while it is read; gives its fs-verity digest."""
    with progress.bar(f"writing {target.name}", total=size) as advance:
        write_stream(pread, size, target, Saving(IMAGE_MODE, durable=False, progress=by_total(advance)))
    return hash_leaves(pread, size).digest


def digests_of(data: bytes) -> tuple[bytes, str]:
    """The fs-verity digest and the SHA-256 of an image that is small enough to be in memory."""

    def pread(offset: int, length: int) -> bytes:
        return data[offset : offset + length]

    return hash_leaves(pread, len(data)).digest, hashlib.sha256(data).hexdigest()
