# SPDX-License-Identifier: Apache-2.0
"""Bringing images into a store: only what is missing, checked on the way, named when all of it is there.

One image that is damaged or incomplete does not keep the others out; it is told, with the reason.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass as mutable
from dataclasses import field
from typing import Final

from muster.errors import ExternalError, UserError
from muster.frozen import dataclass
from muster.progress import SILENT, Advance, Progress
from muster.release.oci.digest import Digest, digest_of
from muster.release.oci.manifest import Descriptor, Manifest, parse_manifest
from muster.release.oci.reference import parse_reference
from muster.release.store.blobs import Blobs
from muster.release.store.crew import Halted, share_out
from muster.release.store.exchange.source import Found, Source
from muster.release.store.exchange.tree import Extent
from muster.release.store.flaws import BadBlob, Flaw, WrongBlob, missing, wrong_size
from muster.release.store.store import Store
from muster.units import render_size

_THREADS: Final = 4
"""More than there are processors: some of them wait for the disk."""


@dataclass(frozen=True)
class Brought:
    """What came into a store."""

    images: tuple[str, ...]
    failed: Mapping[str, str]
    """The images that did not come, and why."""
    new_blobs: int
    new_bytes: int
    known_bytes: int
    """What was here already."""


@mutable
class _Plan:
    """What has to come, and for whom."""

    store: Store
    source: Source
    manifests: dict[Digest, Manifest] = field(default_factory=dict)
    extents: dict[Digest, Extent] = field(default_factory=dict)
    """The blobs that are missing, and where they are."""
    known: dict[Digest, int] = field(default_factory=dict)
    """The blobs that are here, and their sizes."""
    needs: dict[str, set[Digest]] = field(default_factory=dict)
    roots: dict[str, Descriptor] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, found: Found) -> None:
        """Look at an image; what is wrong with it is its own matter."""
        needs: set[Digest] = set()
        waiting = [found.image]
        try:
            parse_reference(name)
            while waiting:
                image = waiting.pop()
                if image.digest in needs:
                    continue
                needs.add(image.digest)
                manifest = self._manifest(image)
                waiting += manifest.manifests
                for blob in manifest.blobs:
                    self._blob(blob)
                    needs.add(blob.digest)
        except (UserError, WrongBlob) as error:
            self.failed[name] = error.message
            return
        self.needs[name], self.roots[name] = needs, self.manifests[found.image.digest].descriptor

    def _manifest(self, image: Descriptor) -> Manifest:
        if image.digest not in self.manifests:
            data = self.source.manifest(image.digest)
            if digest_of(data) != image.digest:
                raise BadBlob(Flaw.CONTENT, f"the manifest {image.digest} is damaged")
            self.manifests[image.digest] = parse_manifest(data, image.digest, image.media_type)
        manifest = self.manifests[image.digest]
        if len(manifest.data) != image.size_bytes:
            raise wrong_size(f"the manifest {image.digest}", len(manifest.data), image.size_bytes)
        return manifest

    def _blob(self, blob: Descriptor) -> None:
        if self.store.blobs.size(blob.digest) == blob.size_bytes:
            self.known[blob.digest] = blob.size_bytes
            return
        extent = self.source.find(blob.digest)
        if extent is None:
            raise missing(blob.digest, "it, nor in the store")
        if extent.size_bytes != blob.size_bytes:
            raise wrong_size(extent.where, extent.size_bytes, blob.size_bytes)
        self.extents[blob.digest] = extent

    def fail(self, digest: Digest, why: str) -> None:
        """A blob could not be had: nobody who needs it gets a name."""
        for name, needs in self.needs.items():
            if digest in needs:
                self.failed.setdefault(name, why)


def bring_images(
    store: Store, source: Source, images: Mapping[str, Found], progress: Progress = SILENT
) -> Brought:
    """Copy images into a store under these names. After an interruption the next run goes on."""
    with store.shared():
        plan = _Plan(store, source)
        for name, found in images.items():
            plan.add(name, found)
        wanted = {digest: plan.extents[digest] for digest in _wanted(plan) if digest in plan.extents}
        _check_room(store.blobs, wanted)
        _copy(plan, wanted, progress)
        whole = {name: image for name, image in plan.roots.items() if name not in plan.failed}
        papers = {digest for name in whole for digest in plan.needs[name]} & plan.manifests.keys()
        share_out(sorted(papers), lambda digest, _: _put(store.blobs, plan.manifests[digest]), _THREADS)
        store.name(whole)
    new = [extent.size_bytes for digest, extent in wanted.items() if store.blobs.size(digest) is not None]
    known = sum(plan.known[digest] for digest in _wanted(plan) if digest in plan.known)
    return Brought(tuple(sorted(whole)), dict(sorted(plan.failed.items())), len(new), sum(new), known)


def _wanted(plan: _Plan) -> set[Digest]:
    return {digest for needs in plan.needs.values() for digest in needs}


def _put(blobs: Blobs, manifest: Manifest) -> None:
    blobs.put(manifest.data)


def _copy(plan: _Plan, wanted: Mapping[Digest, Extent], progress: Progress) -> None:
    """Copy blobs, the largest first so that all threads end together."""
    order = sorted(wanted.items(), key=lambda each: (-each[1].size_bytes, each[0]))
    with progress.bar("copying blobs", total=sum(extent.size_bytes for _, extent in order)) as advance:

        def take(blob: tuple[Digest, Extent], halted: Halted) -> None:
            try:
                _take(plan.store.blobs, *blob, advance, halted)
            except (BadBlob, WrongBlob) as error:
                plan.fail(blob[0], error.message)

        share_out(order, take, _THREADS)


def _take(blobs: Blobs, digest: Digest, extent: Extent, advance: Advance, halted: Halted) -> None:
    with blobs.receive(digest, extent.size_bytes) as incoming:
        if incoming.is_here:
            advance(extent.size_bytes)
            return
        with extent.open() as descriptor:
            os.posix_fadvise(descriptor, extent.offset, extent.size_bytes, os.POSIX_FADV_SEQUENTIAL)
            if not incoming.offset and extent.is_whole_file and incoming.share(descriptor):
                advance(extent.size_bytes)
            else:
                advance(incoming.offset)
                for chunk in extent.chunks(descriptor, incoming.offset):
                    if halted():
                        return
                    incoming.write(chunk)
                    advance(len(chunk))
        incoming.finish()


def _check_room(blobs: Blobs, wanted: Mapping[Digest, Extent]) -> None:
    """Refuse to begin what does not fit. Where blocks are shared, nothing takes room."""
    if not wanted or _shares_blocks(blobs, wanted.values()):
        return
    needed = sum(extent.size_bytes for extent in wanted.values())
    needed -= sum(size for path, size in blobs.partial() if f"sha256:{path.name}" in wanted)
    place = os.statvfs(blobs.root)
    free = place.f_bavail * place.f_frsize
    if free < needed:
        raise ExternalError(
            f"cannot write to {blobs.root}: {render_size(needed)} are missing, {render_size(free)} are free",
            hint=f"free {render_size(needed - free)} there, or choose another place",
        )


def _shares_blocks(blobs: Blobs, extents: Iterable[Extent]) -> bool:
    """Whether the store can share the blocks of what comes: one blob is tried."""
    extent = next((each for each in extents if each.is_whole_file), None)
    if extent is None:
        return False
    with contextlib.suppress(BadBlob), extent.open() as descriptor:
        return blobs.can_share(descriptor)
    return False
