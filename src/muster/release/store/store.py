# SPDX-License-Identifier: Apache-2.0
"""A store: blobs, and an index that names the images among them.

    STORE/oci-layout          says what this is
    STORE/index.json          names -> manifests (`contents.py`)
    STORE/index.json.sig      its signature, if somebody signed it (`seal.py`)
    STORE/blobs/sha256/...    manifests, configurations, layers (`blobs.py`)
    STORE/partial/...         what is on its way in

Any tool that reads OCI image layouts reads it. Nothing in it is ever changed but the index, which is replaced
as a whole; so it may be read, served or copied while somebody writes, and works from a read-only medium.
"""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from muster.errors import MediaError, UserError, cannot
from muster.files import is_part_of, save_file
from muster.lock import Lock, take_lock
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import LARGEST_MANIFEST, Descriptor, Manifest, parse_manifest
from muster.release.oci.reference import parse_reference
from muster.release.store.blobs import Blobs
from muster.release.store.contents import Contents, parse_contents, render_contents
from muster.release.store.flaws import unreadable
from muster.release.store.incoming import cannot_write
from muster.release.store.seal import break_seal, is_sealed, require_seal, save_seal

if TYPE_CHECKING:
    from muster.signature import PrivateKey, PublicKey

LAYOUT: Final = "oci-layout"
INDEX: Final = "index.json"
LARGEST_INDEX: Final = 16 << 20
LAYOUT_VERSION: Final = "1.0.0"
_LOCK: Final = ".lock"
_INDEX_LOCK: Final = ".index.lock"
_logger: Final = logging.getLogger(__name__)


class Store:
    """Images, kept in a folder. See `open_store` and `create_store`."""

    def __init__(
        self, root: Path, *, key: PrivateKey | None = None, public_key: PublicKey | None = None
    ) -> None:
        self.root = root
        self.blobs = Blobs(root)
        self._key, self._public_key = key, public_key

    def contents(self) -> Contents:
        """What is there now; an error when it has to be signed, and is not."""
        data = self.index()
        if self._public_key is not None:
            require_seal(self.root, data, self._public_key)
        return parse_contents(data, str(self.root / INDEX))

    def index(self) -> bytes:
        """The index as it is."""
        path = self.root / INDEX
        try:
            with path.open("rb") as file:
                data = file.read(LARGEST_INDEX + 1)
        except OSError as error:
            raise unreadable(path, error) from error
        if len(data) > LARGEST_INDEX:
            raise MediaError(f"{path} has more than {LARGEST_INDEX} bytes", hint="it is no index of images")
        return data

    def manifest(self, digest: Digest) -> Manifest:
        """A manifest that is here."""
        data = self.blobs.read(digest, LARGEST_MANIFEST)
        return parse_manifest(data, f"{digest} in {self.root}")

    def name(self, images: Mapping[str, Descriptor]) -> None:
        """Let names stand for images. What they need is here already: an index never promises more."""
        for name in images:
            parse_reference(name)
        self.blobs.sync()
        self._change(lambda found: {**found, **images})

    def forget(self, names: Iterable[str]) -> None:
        """Take names away; the blobs stay until they are collected."""
        gone = frozenset(names)
        self._change(lambda found: {name: image for name, image in found.items() if name not in gone})

    def sign(self) -> None:
        """Sign the index as it is, with the key that the store was opened with."""
        self._change(dict)

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """While blobs come in that no name leads to yet, none are collected."""
        with self._lock(_LOCK, shared=True):
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else brings anything in."""
        with self._lock(_LOCK, shared=False):
            yield

    def walk(self, image: Descriptor) -> Iterator[Descriptor]:
        """An image and all that it needs, manifests first, each once; a missing manifest is an error."""
        seen: set[Digest] = set()
        waiting = [image]
        while waiting:
            found = waiting.pop()
            if found.digest in seen:
                continue
            seen.add(found.digest)
            yield found
            manifest = self.manifest(found.digest)
            waiting += reversed(manifest.manifests)
            for blob in manifest.blobs:
                if blob.digest not in seen:
                    seen.add(blob.digest)
                    yield blob

    def _change(self, change: Callable[[dict[str, Descriptor]], Mapping[str, Descriptor]]) -> None:
        with self._lock(_INDEX_LOCK, shared=False):
            before, contents = self.index(), self.contents()
            after = render_contents(change(dict(contents.images)).items(), contents.nameless)
            if after != before:
                break_seal(self.root, will_renew=self._key is not None)
                save_file(self.root / INDEX, after)
            if self._key is not None and not is_sealed(self.root, after, self._key):
                save_seal(self.root, after, self._key)

    def _lock(self, name: str, *, shared: bool) -> Lock:
        try:
            return take_lock(self.root / name, shared=shared, on_wait=self._tell_wait)
        except OSError as error:
            raise cannot_write(self.root, error) from error

    def _tell_wait(self, holder: str) -> None:
        who = f"process {holder}" if holder else "another process"
        _logger.info("%s is writing to %s; waiting for it", who, self.root)


def open_store(root: Path, *, key: PrivateKey | None = None, public_key: PublicKey | None = None) -> Store:
    """A store that is there; it may be on a read-only medium.

    With a ``public_key`` its owner must have signed what is read; with a ``key`` all changes are signed.
    """
    path = root / LAYOUT
    try:
        with path.open("rb") as file:
            check_layout(file.read(LARGEST_MANIFEST), str(path))
    except FileNotFoundError as error:
        raise UserError(
            f"{root} is not a content store: it has no {LAYOUT}",
            hint="`muster release build` makes one, `muster release mirror` fills one",
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error
    store = Store(root, key=key, public_key=public_key)
    if public_key is not None:
        store.contents()
    return store


def check_layout(data: bytes, origin: str) -> None:
    """Read oci-layout, and refuse a version that is not known."""
    try:
        version = json.loads(data)["imageLayoutVersion"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MediaError(f"{origin} is damaged", hint="copy it again from its source") from error
    if version != LAYOUT_VERSION:
        raise UserError(
            f"{origin} says version {str(version)[:20]!r}, this Muster reads {LAYOUT_VERSION}",
            hint="use the Muster that made it",
        )


def create_store(root: Path, *, key: PrivateKey | None = None) -> Store:
    """The store in a folder; an empty one where there is nothing yet."""
    try:
        if not (root / LAYOUT).exists():
            root.mkdir(parents=True, exist_ok=True)
            _refuse_strangers(root)
            with take_lock(root / _INDEX_LOCK, on_wait=lambda _holder: None):
                if not (root / LAYOUT).exists():
                    save_file(root / INDEX, render_contents(()))
                    save_file(root / LAYOUT, render_layout())
    except OSError as error:
        raise cannot("make", root, error) from error
    return open_store(root, key=key)


def remove_store(folder: Path) -> None:
    """Take a store away, the part first that says that it is one."""
    try:
        (folder / LAYOUT).unlink(missing_ok=True)
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise cannot("remove", folder, error) from error


def _refuse_strangers(root: Path) -> None:
    """Leave a folder alone that holds anything but what an interrupted creation leaves."""
    ours = (_LOCK, _INDEX_LOCK, INDEX, LAYOUT)
    for path in root.iterdir():
        is_ours = path.name in ours or any(is_part_of(path, name) for name in ours)
        if not is_ours or (path.name == INDEX and path.read_bytes() != render_contents(())):
            raise UserError(f"{root} is no content store, and it is not empty", hint="name a folder that is")


def render_layout() -> bytes:
    return json.dumps({"imageLayoutVersion": LAYOUT_VERSION}).encode()
