# SPDX-License-Identifier: Apache-2.0
"""Whether a store is whole: a quick look at names, manifests and sizes, or at every byte.

What is wrong is data, not an error: which blob, why, and which images need it. A medium that cannot be read
in places is the case that this is for. Nothing is written, so it works on a read-only medium.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from muster.errors import UserError
from muster.frozen import dataclass
from muster.progress import SILENT, Advance, Progress
from muster.release.oci.digest import PREFIX, Digest
from muster.release.store.blobs import Blobs
from muster.release.store.contents import Contents, parse_contents
from muster.release.store.crew import Halted, count_processors, share_out
from muster.release.store.flaws import BadBlob, Flaw, damaged, missing, unreadable, wrong_size
from muster.release.store.incoming import CHUNK
from muster.release.store.reach import Need, Reach, find_reach
from muster.release.store.seal import Seal, check_seal
from muster.release.store.store import INDEX, Store

if TYPE_CHECKING:
    from muster.signature import PublicKey


@dataclass(frozen=True)
class Fault:
    """A blob that is not as it should be."""

    digest: Digest
    flaw: Flaw
    detail: str
    images: tuple[str, ...]
    """Who needs it; nobody, when it is a leftover."""


@dataclass(frozen=True)
class Report:
    """How a store is."""

    seal: Seal
    whole: tuple[str, ...]
    """The images that can be used."""
    broken: tuple[str, ...]
    faults: tuple[Fault, ...]
    unreachable: tuple[tuple[Digest, int], ...]
    """Blobs that no image needs, and their sizes; they do no harm."""
    needed_bytes: int
    read_bytes: int
    index: str = ""
    """What is wrong with the index, if anything: then no image is known."""
    must_be_sealed: bool = False

    @property
    def is_good(self) -> bool:
        sealed = self.seal is Seal.GOOD or not self.must_be_sealed
        return sealed and not self.index and not self.faults


def verify_store(
    store: Store, *, full: bool = False, public_key: PublicKey | None = None, progress: Progress = SILENT
) -> Report:
    """Look at the index, its signature, every manifest, and each blob's size; with ``full`` at every byte."""
    contents, seal, index = _look_at_index(store, public_key)
    reach = find_reach(store, contents.roots)
    here = {digest: _size(store.blobs, digest) for digest in reach.needs}
    with contextlib.suppress(BadBlob):  # A folder that cannot be listed may still be read from.
        here |= store.blobs.everything()
    sizes = {digest: size for digest, size in here.items() if isinstance(size, int)}
    bad = {digest: size for digest, size in here.items() if isinstance(size, BadBlob)} | dict(reach.bad)
    if full:
        bad = _hash_all(store.blobs, sizes, progress) | bad
    faults = tuple(_find_faults(reach, sizes, bad))
    broken = {image for fault in faults for image in fault.images}
    names = sorted(name for name, _ in contents.roots)
    return Report(
        seal=seal,
        whole=tuple(name for name in names if name not in broken),
        broken=tuple(name for name in names if name in broken),
        faults=faults,
        unreachable=tuple(sorted((digest, sizes[digest]) for digest in sizes.keys() - reach.needs.keys())),
        needed_bytes=sum(sizes.get(digest, 0) for digest in reach.needs),
        read_bytes=sum(sizes.values()) if full else 0,
        index=index,
        must_be_sealed=public_key is not None,
    )


def _look_at_index(store: Store, public_key: PublicKey | None) -> tuple[Contents, Seal, str]:
    try:
        data = store.index()
        seal = check_seal(store.root, data, public_key)
        return parse_contents(data, str(store.root / INDEX)), seal, ""
    except UserError as error:
        return Contents({}), Seal.NONE, error.message


def _size(blobs: Blobs, digest: Digest) -> int | BadBlob:
    try:
        size = blobs.size(digest)
    except BadBlob as error:
        return error
    return missing(digest, blobs.root) if size is None else size


def _find_faults(reach: Reach, sizes: Mapping[Digest, int], bad: Mapping[Digest, BadBlob]) -> Iterator[Fault]:
    """One fault for each bad blob; a size that is wrong for everybody explains a wrong content."""
    for digest in sorted(reach.needs.keys() | bad.keys()):
        need = reach.needs.get(digest, Need())
        liars = need.images - need.sizes.get(sizes.get(digest, -1), set())
        if digest in sizes and liars and (digest not in bad or liars == need.images):
            wanted = min(size for size in need.sizes if size != sizes[digest])
            flaw = wrong_size(f"the blob {digest}", sizes[digest], wanted)
            yield Fault(digest, Flaw.SIZE, flaw.message, tuple(sorted(liars)))
        elif digest in bad:
            yield Fault(digest, bad[digest].flaw, bad[digest].message, tuple(sorted(need.images)))


def _hash_all(blobs: Blobs, sizes: Mapping[Digest, int], progress: Progress) -> dict[Digest, BadBlob]:
    """Read every blob, the largest first so that all threads end together."""
    bad: dict[Digest, BadBlob] = {}
    order = sorted(sizes, key=lambda digest: (-sizes[digest], digest))
    with progress.bar("reading every blob", total=sum(sizes.values())) as advance:

        def check(digest: Digest, halted: Halted) -> None:
            try:
                if _hash(blobs, digest, advance, halted) != digest and not halted():
                    bad[digest] = damaged(blobs.path(digest))
            except BadBlob as error:
                bad[digest] = error

        share_out(order, check, count_processors())
    return bad


def _hash(blobs: Blobs, digest: Digest, advance: Advance, halted: Halted) -> str:
    hashed, buffer = hashlib.sha256(), bytearray(CHUNK)
    view = memoryview(buffer)
    with blobs.open(digest) as file:
        try:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
            while (count := os.readv(file.fileno(), (buffer,))) and not halted():
                hashed.update(view[:count])
                advance(count)
        except OSError as error:
            raise unreadable(blobs.path(digest), error) from error
    return PREFIX + hashed.hexdigest()


def remove_damaged(store: Store, report: Report) -> tuple[Digest, ...]:
    """Remove the blobs whose bytes are wrong, so that the next import brings them again."""
    gone = tuple(fault.digest for fault in report.faults if fault.flaw in (Flaw.CONTENT, Flaw.UNREADABLE))
    if gone:
        with store.alone():
            for digest in gone:
                store.blobs.remove(digest)
    return gone
