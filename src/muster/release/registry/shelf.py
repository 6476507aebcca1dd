# SPDX-License-Identifier: Apache-2.0
"""What a registry can give away: all that the names of a store lead to.

Manifests are read when something is asked for that they may lead to, not before: a medium may be slow. Each
is read once, and checked. All of it may be used by several threads.
"""

from __future__ import annotations

import json
from threading import Lock
from typing import Any, Final

from muster.errors import MusterError
from muster.release.oci.digest import Digest, is_digest
from muster.release.oci.manifest import LARGEST_MANIFEST, Descriptor, Manifest, parse_manifest
from muster.release.registry.names import Names, sort_names
from muster.release.registry.reply import Trouble, missing
from muster.release.store.contents import Contents
from muster.release.store.store import Store

_NOBODY: Final = "nothing that has a name"


class Shelf:
    """What one index leads to."""

    def __init__(self, store: Store, contents: Contents) -> None:
        self.names: Names = sort_names(contents.images.items())
        self._store = store
        self._contents = contents
        self._lock = Lock()
        self._unread: dict[Digest, Descriptor] = {image.digest: image for image in contents.images.values()}
        self._manifests: dict[Digest, Manifest | Trouble] = {}
        """What was read."""
        self._sizes: dict[Digest, set[int]] = {}
        """Of all that is known so far: the sizes that manifests say."""
        self._parents: dict[Digest, set[Digest]] = {}
        self._referrers: dict[Digest, list[dict[str, Any]]] = {}
        for image in contents.images.values():
            self._sizes.setdefault(image.digest, set()).add(image.size_bytes)

    def find_manifest(self, digest: Digest) -> Manifest | Trouble | None:
        """A manifest that a name leads to; None when no name does."""
        if self._is_known(digest) and digest not in self._manifests:
            with self._lock:
                if digest in self._unread:
                    self._read(self._unread[digest])
        return self._manifests.get(digest)

    def find_blob(self, digest: Digest) -> int | Trouble | None:
        """The size of a blob that a name leads to; None when no name does."""
        if not self._is_known(digest):
            return None
        try:
            size = self._store.blobs.size(digest)
        except MusterError as error:
            return Trouble(digest, error.message)
        if size is None:
            return missing(digest)
        said = self._sizes[digest]
        if size not in said:
            return Trouble(digest, f"it has {size} bytes, and should have {max(said)}")
        return size

    def find_referrers(self, digest: Digest) -> list[dict[str, Any]]:
        """What says that it belongs to a manifest: signatures, and lists of what is in it."""
        while self._read_next():
            pass
        return list(self._referrers.get(digest, ()))

    def find_needers(self, digest: Digest) -> list[str]:
        """The names of the images that need a blob."""
        while self._read_next():
            pass
        with self._lock:
            seen = {digest}
            waiting = [digest]
            while waiting:
                new = self._parents.get(waiting.pop(), set()) - seen
                seen |= new
                waiting += new
        return [name for name, image in self._contents.images.items() if image.digest in seen] or [_NOBODY]

    def _is_known(self, digest: Digest) -> bool:
        while digest not in self._sizes and self._read_next():
            pass
        return digest in self._sizes

    def _read_next(self) -> bool:
        with self._lock:
            if not self._unread:
                return False
            self._read(next(iter(self._unread.values())))
            return True

    def _read(self, image: Descriptor) -> None:
        """Read a manifest, and note what it leads to."""
        found = self._load(image)
        if isinstance(found, Manifest):
            for child in (*found.manifests, *found.blobs):
                self._parents.setdefault(child.digest, set()).add(image.digest)
                self._sizes.setdefault(child.digest, set()).add(child.size_bytes)
            self._note_subject(found)
            more = (child for child in found.manifests if child.digest not in self._manifests)
            self._unread.update({child.digest: child for child in more})
        self._manifests[image.digest] = found
        del self._unread[image.digest]

    def _load(self, image: Descriptor) -> Manifest | Trouble:
        try:
            if self._store.blobs.size(image.digest) is None:
                return missing(image.digest)
            data = self._store.blobs.read(image.digest, LARGEST_MANIFEST)
        except MusterError as error:
            return Trouble(image.digest, error.message)
        try:
            return parse_manifest(data, image.digest, image.media_type)
        except MusterError:  # Whatever it is, it is what was asked for.
            return Manifest(image.media_type, data)

    def _note_subject(self, manifest: Manifest) -> None:
        if b'"subject"' not in manifest.data:
            return
        try:
            body = json.loads(manifest.data)
            subject = body["subject"]["digest"]
        except (ValueError, LookupError, TypeError, RecursionError):
            return
        if isinstance(subject, str) and is_digest(subject):
            self._referrers.setdefault(Digest(subject), []).append(_render_referrer(manifest, body))


def _render_referrer(manifest: Manifest, body: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = manifest.descriptor.render()
    kind = body.get("artifactType") or (manifest.config.media_type if manifest.config else "")
    if isinstance(kind, str) and kind:
        shown["artifactType"] = kind
    if manifest.annotations:
        shown["annotations"] = dict(manifest.annotations)
    return shown
