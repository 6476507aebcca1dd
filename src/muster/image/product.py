# SPDX-License-Identifier: Apache-2.0
"""Writes images: a base image with its changes, or one that is put together while it is read."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.image.base_image import BaseImage
from muster.image.cache.store import Cache
from muster.image.checksum import load_leaves, sha256_of
from muster.image.copy import Saving, check_space, write_image, write_stream
from muster.image.draft import Draft
from muster.image.iso.volume import Volume
from muster.image.overlay import Overlay, Pread
from muster.image.papers import Digests
from muster.image.sbom import Component
from muster.image.verity import hash_leaves
from muster.progress import Progress, by_total

IMAGE_MODE: Final = 0o600
"""A medium holds secrets."""


def base_component(base: BaseImage, label: str) -> Component:
    """The base image as a part of a medium.

    Where it was downloaded from belongs to it. Where somebody keeps a copy does not: the bill is for
    everybody, and is the same wherever it is made.
    """
    is_remote = base.origin.startswith(("http://", "https://"))
    properties = {"origin": base.origin.partition("?")[0]} if is_remote else {}
    return Component("operating-system", label or "live image", sha256=base.sha256, properties=properties)


@dataclass(frozen=True)
class Source:
    """An open base image, and where what is known about it is kept."""

    base: BaseImage
    volume: Volume
    cache: Cache
    draft: Draft | None = None
    """A copy of it that was begun ahead."""
    added: Overlay | None = None
    """What it is given before anything else."""

    @property
    def image(self) -> Volume:
        """What the medium is made of: the base with what was added to it."""
        return self.volume.view(self.added) if self.added else self.volume

    def whole(self, overlay: Overlay) -> Overlay:
        """All that differs from the base, when this does from the image."""
        return self.added.then(overlay) if self.added else overlay

    def with_draft(self, draft: Draft | None) -> Source:
        """The same, and a copy that was begun ahead."""
        return replace(self, draft=draft)


def digest_customized(source: Source, overlay: Overlay, progress: Progress, *, with_sha256: bool) -> Digests:
    """What the base image with its changes hashes to, before it is written."""
    read = source.volume.read
    leaves = load_leaves(source.cache, source.base.sha256, read, source.base.size_bytes, progress)
    sha256 = sha256_of(source.volume.view(overlay).read, overlay.size, progress) if with_sha256 else ""
    return Digests(leaves.digest_with(overlay, read), sha256)


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


def save_stream(pread: Pread, size: int, target: Path, progress: Progress, *, with_sha256: bool) -> Digests:
    """Write an image that is put together while it is read; gives what it hashes to."""
    with progress.bar(f"writing {target.name}", total=size) as advance:
        write_stream(pread, size, target, Saving(IMAGE_MODE, durable=False, progress=by_total(advance)))
    sha256 = sha256_of(pread, size, progress) if with_sha256 else ""
    return Digests(hash_leaves(pread, size).digest, sha256)


def digests_of(data: bytes) -> Digests:
    """What an image that is small enough to be in memory hashes to."""

    def pread(offset: int, length: int) -> bytes:
        return data[offset : offset + length]

    return Digests(hash_leaves(pread, len(data)).digest, hashlib.sha256(data).hexdigest())
