# SPDX-License-Identifier: Apache-2.0
"""Writing images of a store into one tar archive, the same bytes for the same images.

It is an OCI image layout (``oci-archive:`` of skopeo and podman). With the table that Docker wants besides,
`docker load` takes it, too. Every blob is checked on the way: a damaged one is not passed on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from muster.errors import UserError, cannot
from muster.files import is_free, part_of, remove_leftovers, sync_folder
from muster.progress import SILENT, Advance, Progress
from muster.release.oci.digest import PREFIX, Digest, hex_of
from muster.release.oci.manifest import Descriptor
from muster.release.oci.reference import parse_reference
from muster.release.store.contents import render_contents
from muster.release.store.exchange.docker import MANIFEST
from muster.release.store.flaws import damaged, unreadable, wrong_size
from muster.release.store.incoming import CHUNK
from muster.release.store.store import INDEX, LAYOUT, Store, render_layout

Write: TypeAlias = Callable[[bytes | memoryview], object]
_BLOCK: Final = 512
_RECORD: Final = 20 * _BLOCK
"""What the length of an archive is a multiple of, by tradition."""


def save_archive(
    store: Store, images: Mapping[str, Descriptor], write: Write, *, docker: bool, progress: Progress = SILENT
) -> int:
    """Write images into an archive; how many bytes it has."""
    papers = {LAYOUT: render_layout(), INDEX: render_contents(images.items())}
    if docker:
        papers[MANIFEST] = _docker_table(store, images)
    blobs = {blob.digest: blob for image in images.values() for blob in store.walk(image)}
    written = 0

    def put(data: bytes | memoryview) -> None:
        nonlocal written
        write(data)
        written += len(data)

    for name, data in papers.items():
        put(_header(name, len(data)) + data + bytes(-len(data) % _BLOCK))
    put(_header("blobs/", None) + _header("blobs/sha256/", None))
    with progress.bar(
        "writing the archive", total=sum(blob.size_bytes for blob in blobs.values())
    ) as advance:
        for digest in sorted(blobs):
            _put_blob(store, blobs[digest], put, advance)
    put(bytes(2 * _BLOCK))
    put(bytes(-written % _RECORD))
    return written


def _put_blob(store: Store, blob: Descriptor, put: Write, advance: Advance) -> None:
    path = store.blobs.path(blob.digest)
    hashed, buffer, left = hashlib.sha256(), memoryview(bytearray(CHUNK)), blob.size_bytes
    put(_header(f"blobs/sha256/{hex_of(blob.digest)}", blob.size_bytes))
    with store.blobs.open(blob.digest) as file:
        size = os.fstat(file.fileno()).st_size
        if size != blob.size_bytes:
            raise wrong_size(path, size, blob.size_bytes)
        while left:
            try:
                count = os.readv(file.fileno(), (buffer[:left],))
            except OSError as error:
                raise unreadable(path, error) from error
            if not count:
                raise wrong_size(path, blob.size_bytes - left, blob.size_bytes)
            hashed.update(buffer[:count])
            put(buffer[:count])
            advance(count)
            left -= count
    if PREFIX + hashed.hexdigest() != blob.digest:
        raise damaged(path)
    put(bytes(-blob.size_bytes % _BLOCK))


def _header(name: str, size: int | None) -> bytes:
    """The header of a file, or of a folder, that belongs to nobody and has no time."""
    import tarfile  # Slow, and most commands never come here.

    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = (tarfile.DIRTYPE, 0o755) if size is None else (tarfile.REGTYPE, 0o644)
    entry.size, entry.mtime = size or 0, 0
    return entry.tobuf(tarfile.GNU_FORMAT)


def _docker_table(store: Store, images: Mapping[str, Descriptor]) -> bytes:
    """manifest.json: which files are the configuration and the layers of each image."""
    tags: dict[Digest, list[str]] = {}
    for name, image in sorted(images.items()):
        reference = parse_reference(name)
        tags.setdefault(image.digest, [])
        if not reference.digest:
            tags[image.digest].append(name)
    entries = []
    for digest in sorted(tags):
        manifest = store.manifest(digest)
        if manifest.config is None:
            name = next(name for name, image in images.items() if image.digest == digest)
            raise UserError(
                f"{name} is for several architectures, and `docker load` takes images for one",
                hint="write an OCI archive instead: --format oci",
            )
        entries.append(
            {
                "Config": _place(manifest.config.digest),
                "RepoTags": tags[digest],
                "Layers": [_place(layer.digest) for layer in manifest.layers],
            }
        )
    return json.dumps(entries, separators=(",", ":")).encode()


def _place(digest: Digest) -> str:
    return f"blobs/sha256/{hex_of(digest)}"


@contextlib.contextmanager
def new_file(path: Path, *, replace: bool = False) -> Iterator[Write]:
    """A file that is there when all of it is written, and not before."""
    if not replace and os.path.lexists(path):
        raise UserError(f"{path} is there already", hint="choose another name, or replace it with --force")
    temporary = part_of(path)
    try:
        remove_leftovers(path.parent, [path.name])
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            try:
                is_free(descriptor)  # Locked, so that nobody takes it for a leftover.
                yield lambda data: _write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise cannot("write", path, error) from error


def _write_all(descriptor: int, data: bytes | memoryview) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
