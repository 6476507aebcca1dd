# SPDX-License-Identifier: Apache-2.0
"""Archives of `docker save` as a source: manifest.json names a configuration and layers for each image.

They have no manifests with digests, so one is made for each image, the same in every run. Configuration and
layers stay as they are, byte by byte. What they must hash to is told by the configuration.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

from muster.errors import MediaError, UserError
from muster.release.oci.digest import PREFIX, Digest, digest_of, parse_digest
from muster.release.oci.manifest import (
    LARGEST_MANIFEST,
    OCI_CONFIG,
    OCI_LAYER,
    OCI_LAYER_GZIP,
    OCI_LAYER_ZSTD,
    Descriptor,
    Manifest,
    render_manifest,
)
from muster.release.store.exchange.source import Found
from muster.release.store.exchange.tree import Extent, Tree
from muster.release.store.flaws import BadBlob, Flaw, missing
from muster.release.unpack import HEAD_BYTES, find_unpacker

MANIFEST: Final = "manifest.json"
_PACKED: Final = {b"\x1f\x8b": OCI_LAYER_GZIP, b"\x28\xb5\x2f\xfd": OCI_LAYER_ZSTD}
"""What compressed layers begin with."""
_HOST: Final = re.compile(r"localhost|.*[.:].*")
HUB: Final = "docker.io"
_NO_NAME: Final = "<none>:<none>"


class DockerArchive:
    """What `docker save`, `podman save` and others write, in an archive or unpacked in a folder."""

    kind = "an archive of docker save"

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._manifests: dict[Digest, Manifest] = {}
        self._extents: dict[Digest, Extent] = {}
        self._found: list[Found] = []
        for number, entry in enumerate(self._entries()):
            self._add(entry, f"{MANIFEST}[{number}] in {tree.origin}")

    def images(self) -> tuple[Found, ...]:
        return tuple(self._found)

    def manifest(self, digest: Digest) -> bytes:
        if digest not in self._manifests:
            raise missing(digest, self._tree.origin)
        return self._manifests[digest].data

    def find(self, digest: Digest) -> Extent | None:
        return self._extents.get(digest)

    def _entries(self) -> list[Any]:
        extent = self._tree.find(MANIFEST)
        assert extent is not None
        try:
            body = json.loads(extent.read(LARGEST_MANIFEST))
        except (ValueError, RecursionError) as error:
            raise _bad(extent.where, "it is not JSON") from error
        if not isinstance(body, list):
            raise _bad(extent.where, "it is not a list")
        return body

    def _add(self, entry: Any, where: str) -> None:
        """Make the manifest of one image."""
        if not isinstance(entry, dict) or not isinstance(entry.get("Config"), str):
            raise _bad(where, "it names no Config")
        config = self._file(entry["Config"], where)
        data = config.read(LARGEST_MANIFEST)
        diffs, layers = _diff_ids(data, config.where), _texts(entry.get("Layers"), where)
        if len(diffs) != len(layers):
            raise _bad(where, f"it has {len(layers)} layers, and its configuration tells of {len(diffs)}")
        described = Descriptor(OCI_CONFIG, digest_of(data), len(data))
        self._extents[described.digest] = config
        manifest = render_manifest(
            described, [self._layer(path, diff, where) for path, diff in zip(layers, diffs, strict=True)]
        )
        self._manifests[manifest.digest] = manifest
        tags = [tag for tag in _texts(entry.get("RepoTags") or [], where) if tag != _NO_NAME]
        self._found += [Found(manifest.descriptor, full_name(tag)) for tag in tags]
        if not tags:
            self._found.append(Found(manifest.descriptor))

    def _layer(self, path: str, diff: Digest, where: str) -> Descriptor:
        extent = self._file(path, where)
        with extent.open() as descriptor:
            head = bytes(next(extent.chunks(descriptor), b"")[:HEAD_BYTES])
        if find_unpacker(head, extent.where) is None:
            digest, media_type = diff, OCI_LAYER
        else:
            media_type = next((kind for magic, kind in _PACKED.items() if head.startswith(magic)), "")
            if not media_type:
                raise _bad(extent.where, "it is compressed, but neither with gzip nor with zstd")
            digest = _digest_packed(extent, head, diff)
        self._extents[digest] = extent
        return Descriptor(media_type, digest, extent.size_bytes)

    def _file(self, path: str, where: str) -> Extent:
        parts = path.split("/")
        extent = None if ".." in parts or path.startswith("/") else self._tree.find(path.removeprefix("./"))
        if extent is None:
            raise _bad(where, f"there is no file {path[:200]!r}, which it needs")
        return extent


def is_docker_archive(tree: Tree) -> bool:
    return tree.find(MANIFEST) is not None


def full_name(tag: str) -> str:
    """The whole name of what Docker calls by a short one: nginx:1 is docker.io/library/nginx:1."""
    first, slash, _ = tag.partition("/")
    if slash and _HOST.fullmatch(first):
        return tag
    return f"{HUB}/{tag}" if slash else f"{HUB}/library/{tag}"


def _diff_ids(data: bytes, where: str) -> list[Digest]:
    """What the layers of an image hash to when they are not compressed."""
    try:
        body = json.loads(data)
        texts = _texts(body["rootfs"]["diff_ids"] or [], where) if "rootfs" in body else []
        return [parse_digest(text) for text in texts]
    except (ValueError, KeyError, TypeError, RecursionError, UserError) as error:
        raise _bad(where, "it is not the configuration of an image") from error


def _digest_packed(extent: Extent, head: bytes, diff: Digest) -> Digest:
    """The digest of a compressed layer, if it unpacks to what it should."""
    unpacker = find_unpacker(head, extent.where)
    assert unpacker is not None
    packed, unpacked = hashlib.sha256(), hashlib.sha256()
    with extent.open() as descriptor:
        for chunk in extent.chunks(descriptor):
            packed.update(chunk)
            for piece in unpacker.unpack(bytes(chunk)):
                unpacked.update(piece)
    unpacker.finish()
    if PREFIX + unpacked.hexdigest() != diff:
        raise BadBlob(Flaw.CONTENT, f"{extent.where} is damaged: it does not unpack to {diff}")
    return Digest(PREFIX + packed.hexdigest())


def _texts(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _bad(where, "what should be a list of texts is none")
    return value


def _bad(where: str, why: str) -> MediaError:
    return MediaError(
        f"{where} cannot be used: {why}", hint="write the archive again, with `docker save` or `podman save`"
    )
