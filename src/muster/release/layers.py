# SPDX-License-Identifier: Apache-2.0
"""Single files out of an image, without storing the image: layers are read from the top, and thrown away.

That is how a base image or a program comes out of a release. A layer is checked as a whole before anything of
it is used, and what its entries are called never decides where something is written.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Final, Protocol

from muster.errors import UserError, cannot
from muster.files import part_of, sync_folder
from muster.frozen import dataclass
from muster.progress import SILENT, Progress
from muster.release.copying import find_image
from muster.release.oci.digest import PREFIX
from muster.release.oci.manifest import Descriptor, Manifest
from muster.release.oci.trouble import Damaged
from muster.release.off_loop import drain, off_loop
from muster.release.ports import Source
from muster.release.tar_stream import Entry, Kind, Sink, TarReader
from muster.release.tree import Layer, NextLayer, Place, clean, resolve
from muster.release.unpack import HEAD_BYTES, Unpacker, find_unpacker

LARGEST_FILE: Final = 16 << 20
"""As much as is read into memory if nobody says otherwise."""


@dataclass(frozen=True)
class Extracted:
    """A file that came out of an image."""

    path: Path
    size_bytes: int
    sha256: str
    beside: Mapping[str, bytes] = field(default_factory=dict)
    """Small files that were wanted, too, by path; without those that are not there."""


@dataclass(frozen=True)
class Pick:
    """What is wanted of an image."""

    path: str
    to: Path
    """Where it goes."""
    beside: tuple[str, ...] = ()
    """Small files whose content is wanted, too."""
    sha256: str = ""
    """What it has to hash to, where that is known; another file does not get there."""


class Catch(Protocol):
    """Keeps the content of one file while a layer is read."""

    def write(self, data: memoryview) -> None: ...
    def drop(self) -> None:
        """It is not needed."""


@dataclass(frozen=True)
class Image:
    """The layers of an image, from the top, with what was read of them."""

    source: Source
    layers: tuple[Descriptor, ...]
    progress: Progress = SILENT
    known: list[Layer] = field(default_factory=list)
    caught: dict[tuple[int, str], Catch] = field(default_factory=dict)
    """What was kept, by layer and path."""


async def extract(source: Source, pick: Pick, *, architecture: str, progress: Progress = SILENT) -> Extracted:
    """Write one file of an image, and read small ones beside it in the same go: their layer comes once."""
    if await off_loop(pick.to.is_dir):
        raise UserError(f"{pick.to} is a directory, not a place for a file", hint="name a file in it")
    image = await open_image(source, architecture, progress)
    small = {clean(name) for name in pick.beside} - {clean(pick.path)}

    def memory(entry: Entry) -> Catch:
        return _MemoryCatch(entry, LARGEST_FILE)

    def catch(entry: Entry) -> Catch:
        return memory(entry) if clean(entry.name) in small else _FileCatch(pick.to, entry)

    with _dropping(image):
        place = await _find(image, pick, catch)
        caught = await _caught(image, place, catch)
        assert isinstance(caught, _FileCatch)
        beside = await _read_found(image, pick.beside, memory)
        _check_hash(image, pick, caught.sha256)
        return replace(await off_loop(caught.keep), beside=beside)


async def read_files(
    source: Source,
    paths: Iterable[str],
    *,
    architecture: str,
    limit: int = LARGEST_FILE,
    progress: Progress = SILENT,
) -> dict[str, bytes]:
    """The content of small files of an image, by the paths that were given, without those that are not there.

    Each layer is read once, as a rule, however many files are wanted.
    """
    image = await open_image(source, architecture, progress)
    wanted = tuple(dict.fromkeys(paths))

    def catch(entry: Entry) -> Catch:
        return _MemoryCatch(entry, limit)

    with _dropping(image):
        return await _read_found(image, wanted, catch)


async def _read_found(
    image: Image, paths: Sequence[str], catch: Callable[[Entry], Catch]
) -> dict[str, bytes]:
    """The content of small files, of those that are there."""
    found: dict[str, bytes] = {}
    for path in paths:
        place = await _seek(image, path, paths, catch)
        if place is None:
            continue
        _check_kind(image, path, place)
        caught = await _caught(image, place, catch)
        if not isinstance(caught, _MemoryCatch):
            raise UserError(
                f"{path} in {image.source.shown} is a link to what it should lie beside",
                hint="check that it is the image that was meant",
            )
        found[path] = caught.content(f"{path} in {image.source.shown}")
    return found


async def open_image(source: Source, architecture: str, progress: Progress = SILENT) -> Image:
    """An image, or that of an index for one architecture."""
    manifest: Manifest = await find_image(source, architecture)
    return Image(source, tuple(reversed(manifest.layers)), progress)


async def _find(image: Image, pick: Pick, catch: Callable[[Entry], Catch]) -> Place:
    path = pick.path
    place = await _seek(image, path, (path, *pick.beside), catch)
    if place is None:
        raise UserError(
            f"{image.source.shown} has no file {path}",
            hint="check the path, and that this is the right image",
        )
    _check_kind(image, path, place)
    return place


def _check_hash(image: Image, pick: Pick, found: str) -> None:
    if pick.sha256 and found != pick.sha256:
        raise UserError(
            f"{pick.path} in {image.source.shown} has the SHA-256 {found}, not {pick.sha256}",
            hint="check that this is the image that the hash belongs to",
        )


def _check_kind(image: Image, path: str, place: Place) -> None:
    if place.entry.kind is not Kind.FILE or place.entry.sparse:
        what = "stored with holes" if place.entry.sparse else f"a {place.entry.kind.value}"
        raise UserError(
            f"{path} in {image.source.shown} is {what}, not a plain file",
            hint="name a plain file of the image",
        )


async def _seek(
    image: Image, path: str, wanted: Iterable[str], catch: Callable[[Entry], Catch]
) -> Place | None:
    """Find a path, reading as many layers as it takes; on the way what has a wanted path is kept."""
    names = {name for name in map(clean, wanted) if name}
    while True:
        try:
            return resolve(image.known, len(image.layers), path)
        except NextLayer:
            await _read_layer(image, len(image.known), names, catch)


async def _caught(image: Image, place: Place, catch: Callable[[Entry], Catch]) -> Catch:
    """The content of a file; its layer is read once more when nobody knew that a link would lead there."""
    key = (place.layer, place.path)
    if key not in image.caught:
        await _read_layer(image, place.layer, {place.path}, catch)
    return image.caught[key]


async def _read_layer(image: Image, number: int, names: set[str], catch: Callable[[Entry], Catch]) -> None:
    """Read a layer to its end, learn its names if they are not known yet, and keep what is called for."""
    blob = image.layers[number]
    shown = f"the layer {blob.digest} of {image.source.shown}"
    reading = _Reading(shown, names, catch)
    try:
        with image.progress.bar(f"reading {image.source.shown}", total=blob.size_bytes) as advance:
            await drain(image.source.blob(blob), reading.write, advance)
        await off_loop(reading.finish, blob)
    except BaseException:
        reading.drop()
        raise
    if number == len(image.known):
        image.known.append(reading.layer)
    image.caught.update({(number, name): caught for name, caught in reading.caught.items()})


class _Reading:
    """A layer on its way through: hashed, unpacked, its names learnt, some of its files kept."""

    def __init__(self, shown: str, names: set[str], catch: Callable[[Entry], Catch]) -> None:
        self._shown, self._names, self._catch = shown, names, catch
        self._hash = hashlib.sha256()
        self._head = b""
        self._unpacker: Unpacker | None = None
        self._begun = False
        self._tar = TarReader(shown, self._begin)
        self.layer = Layer()
        self.caught: dict[str, Catch] = {}

    def write(self, data: bytes) -> None:
        self._hash.update(data)
        if not self._begun:
            data = self._head = self._head + data
            if len(data) < HEAD_BYTES:
                return
            self._start()
        self._unpack(data)

    def _start(self) -> None:
        self._begun = True
        self._unpacker = find_unpacker(self._head, self._shown)
        self._head = b""

    def _unpack(self, data: bytes) -> None:
        if self._unpacker is None:
            self._tar.feed(data)
            return
        for piece in self._unpacker.unpack(data):
            self._tar.feed(piece)

    def finish(self, blob: Descriptor) -> None:
        """The end of it. What was kept may be used when this was no error."""
        if f"{PREFIX}{self._hash.hexdigest()}" != blob.digest:
            raise Damaged(
                f"{self._shown} is not what it should be: it has the digest {PREFIX}{self._hash.hexdigest()}",
                hint="it was changed on the way, or the registry is broken; ask another one",
            )
        self._tar.feed(self._head)
        if self._unpacker is not None:
            self._unpacker.finish()
        self._tar.finish()

    def drop(self) -> None:
        for catch in self.caught.values():
            catch.drop()

    def _begin(self, entry: Entry) -> Sink | None:
        name = self.layer.add(entry, self._shown)
        earlier = self.caught.pop(name, None)
        if earlier is not None:
            earlier.drop()
        if name not in self._names or entry.kind is not Kind.FILE or entry.sparse:
            return None
        self.caught[name] = self._catch(entry)
        return self.caught[name]


class _MemoryCatch:
    """A small file."""

    def __init__(self, entry: Entry, limit: int) -> None:
        self._size_bytes, self._limit = entry.size_bytes, limit
        self._data = bytearray()

    def write(self, data: memoryview) -> None:
        if self._size_bytes <= self._limit:
            self._data += data

    def drop(self) -> None:
        self._data.clear()

    def content(self, shown: str) -> bytes:
        if self._size_bytes > self._limit:
            raise UserError(
                f"{shown} has {self._size_bytes} bytes, more than the {self._limit} that are read",
                hint="check that it is the file that was meant",
            )
        return bytes(self._data)


class _FileCatch:
    """A file under a name that only we know, until it gets its own."""

    def __init__(self, to: Path, entry: Entry) -> None:
        self._to, self._part = to, part_of(to)
        self._hash = hashlib.sha256()
        self._size_bytes = 0
        mode = 0o755 if entry.mode & 0o111 else 0o644
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            self._file = os.fdopen(descriptor, "wb", buffering=0)
            os.fchmod(descriptor, mode)  # Whatever the umask.
        except OSError as error:
            raise cannot("write", to, error) from error

    def write(self, data: memoryview) -> None:
        self._hash.update(data)
        self._size_bytes += len(data)
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise cannot("write", self._to, error) from error

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def keep(self) -> Extracted:
        """Give it its name."""
        try:
            os.fsync(self._file.fileno())
            self._file.close()
            self._part.replace(self._to)
            sync_folder(self._to.parent)
        except OSError as error:
            raise cannot("write", self._to, error) from error
        return Extracted(self._to, self._size_bytes, self.sha256)

    def drop(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
            self._part.unlink(missing_ok=True)


@contextlib.contextmanager
def _dropping(image: Image) -> Iterator[None]:
    """Whatever was kept and did not get a name goes away at the end."""
    try:
        yield
    finally:
        caught: Mapping[tuple[int, str], Catch] = image.caught
        for catch in caught.values():
            catch.drop()
