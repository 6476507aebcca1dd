# SPDX-License-Identifier: Apache-2.0
"""A store: blobs, and an index that names the images among them.

    STORE/oci-layout          says what this is
    STORE/index.json          names -> manifests (`contents.py`)
    STORE/blobs/sha256/...    manifests, configurations, layers (`blobs.py`)

Any tool that reads OCI image layouts reads it. Nothing in it is ever changed but the index, which is replaced
as a whole; so it may be read, served or copied while somebody writes, and works from a read-only medium.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from muster.errors import MediaError, UserError, cannot
from muster.files import save_file
from muster.lock import take_lock
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import LARGEST_MANIFEST, Descriptor, Manifest, parse_manifest
from muster.release.store.blobs import Blobs
from muster.release.store.contents import Contents, parse_contents, render_contents

LAYOUT: Final = "oci-layout"
INDEX: Final = "index.json"
_LAYOUT_VERSION: Final = "1.0.0"


class Store:
    """Images, kept in a folder. See `open_store` and `create_store`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = Blobs(root)

    def contents(self) -> Contents:
        """What is there now."""
        path = self.root / INDEX
        try:
            return parse_contents(path.read_bytes(), str(path))
        except OSError as error:
            raise cannot("read", path, error) from error

    def manifest(self, digest: Digest) -> Manifest:
        """A manifest that is here."""
        data = self.blobs.read(digest, LARGEST_MANIFEST)
        return parse_manifest(data, f"{digest} in {self.root}")

    def name(self, images: Mapping[str, Descriptor]) -> None:
        """Let names stand for images. What they need is here already: an index never promises more."""
        self._change(lambda found: {**found, **images})

    def forget(self, names: Iterable[str]) -> None:
        """Take names away; the blobs stay until they are collected."""
        gone = frozenset(names)
        self._change(lambda found: {name: image for name, image in found.items() if name not in gone})

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """While blobs come in that no name leads to yet, none are collected."""
        with self._lock(shared=True):
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else brings anything in."""
        with self._lock(shared=False):
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
        with take_lock(self.root / ".index.lock", on_wait=lambda _holder: None):
            images = change(dict(self.contents().images))
            save_file(self.root / INDEX, render_contents(images.items()))

    @contextlib.contextmanager
    def _lock(self, *, shared: bool) -> Iterator[None]:
        try:
            lock = take_lock(self.root / ".lock", shared=shared, on_wait=lambda _holder: None)
        except OSError as error:
            raise cannot("write to", self.root, error) from error
        with lock:
            yield


def open_store(root: Path) -> Store:
    """A store that is there; it may be on a read-only medium."""
    path = root / LAYOUT
    try:
        body = json.loads(path.read_bytes())
        version = body["imageLayoutVersion"]
    except FileNotFoundError as error:
        raise UserError(
            f"{root} is not a content store: it has no {LAYOUT}",
            hint="`muster release build` makes one, `muster release mirror` fills one",
        ) from error
    except OSError as error:
        raise cannot("read", path, error) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MediaError(f"{path} is damaged", hint="copy the store again from its source") from error
    if version != _LAYOUT_VERSION:
        raise UserError(
            f"{root} is a store of version {str(version)[:20]!r}, this Muster reads {_LAYOUT_VERSION}",
            hint="use the Muster that made it",
        )
    return Store(root)


def create_store(root: Path) -> Store:
    """The store in a folder; an empty one where there is nothing yet."""
    if (root / LAYOUT).exists():
        return open_store(root)
    try:
        if root.is_dir() and any(root.iterdir()):
            raise UserError(f"{root} is no content store, and it is not empty", hint="name a folder that is")
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot("make", root, error) from error
    save_file(root / INDEX, render_contents(()))
    save_file(root / LAYOUT, json.dumps({"imageLayoutVersion": _LAYOUT_VERSION}).encode())
    return Store(root)
