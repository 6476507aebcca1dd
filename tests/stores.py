# SPDX-License-Identifier: Apache-2.0
"""Small images, and stores that hold them; made the same every time."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.release.oci.digest import Digest, digest_of
from muster.release.oci.manifest import (
    OCI_CONFIG,
    OCI_LAYER,
    OCI_LAYER_GZIP,
    OCI_MANIFEST,
    Descriptor,
    Manifest,
    Platform,
    render_index,
    render_manifest,
)
from muster.release.store.store import Store, create_store

REGISTRY = "registry.example.com"
NAME = f"{REGISTRY}/app/web:v1"
OTHER = f"{REGISTRY}/app/db:v2"
TOOL = f"{REGISTRY}/team/tool:v1"
MULTI = f"{REGISTRY}/team/multi:v1"


def noise(seed: int, size: int = 20_000) -> bytes:
    """Bytes that nothing compresses, the same in every run."""
    return random.Random(seed).randbytes(size)


def make_store(root: Path) -> Store:
    """Two images that share a layer."""
    store = create_store(root)
    put_image(store, [noise(1), noise(2)], NAME)
    put_image(store, [noise(1), noise(3)], OTHER)
    return store


def layer_path(store: Store, seed: int) -> Path:
    return store.blobs.path(digest_of(noise(seed)))


@dataclass(frozen=True)
class Stored:
    """A store with two images: `TOOL`, and `MULTI`, which is an index of one that has no name of its own."""

    store: Store
    tool: Manifest
    multi: Manifest
    inner: Manifest

    @property
    def layer(self) -> Descriptor:
        """That of the tool."""
        return self.tool.layers[0]


def build_stored(root: Path, size: int = 200_000) -> Stored:
    """Make the store; the tool's layer has about ``size`` bytes."""
    store = create_store(root)
    tool, inner = put_program(store, "tool", size), put_program(store, "inner", 1000)
    store.name({TOOL: tool.descriptor})
    return Stored(store, tool, put_index(store, [inner], MULTI), inner)


def take_in(store: Store, data: bytes, digest: Digest | None = None, size: int | None = None) -> None:
    with store.blobs.receive(digest or digest_of(data), len(data) if size is None else size) as incoming:
        if not incoming.is_here:
            incoming.write(data[incoming.offset :])
        incoming.finish()


def put_image(store: Store, layers: Sequence[bytes], name: str = "") -> Manifest:
    """Keep an image; with a name it is found."""
    manifest = _put(store, {}, OCI_LAYER, layers, layers)
    if name:
        store.name({name: manifest.descriptor})
    return manifest


def program_of(name: str, size: int) -> bytes:
    """The file in the image of a program."""
    return random.Random(name).randbytes(size)


def put_program(store: Store, name: str, size: int) -> Manifest:
    """Keep an image with one file that is called like it, for programs that unpack it; it has no name yet."""
    tree = _tar(name, program_of(name, size))
    layer = gzip.compress(tree, compresslevel=0, mtime=0)
    return _put(store, {"config": {"Cmd": [f"/{name}"]}}, OCI_LAYER_GZIP, [layer], [tree])


def put_index(store: Store, images: Sequence[Manifest], name: str) -> Manifest:
    """Keep an image for several architectures."""
    platforms = (Platform("amd64"), Platform("arm64"), Platform("s390x"))
    index = render_index(
        Descriptor(image.media_type, image.digest, len(image.data), platform)
        for image, platform in zip(images, platforms, strict=False)
    )
    store.blobs.put(index.data)
    store.name({name: index.descriptor})
    return index


def put_referrer(store: Store, subject: Manifest, kind: str) -> Digest:
    """Something that says that it belongs to an image, such as a signature."""
    empty = {"mediaType": "application/vnd.oci.empty.v1+json", "digest": store.blobs.put(b"{}"), "size": 2}
    body = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "artifactType": kind,
        "config": empty,
        "layers": [empty],
        "subject": subject.descriptor.render(),
        "annotations": {"made": "for a test"},
    }
    data = json.dumps(body).encode()
    digest = digest_of(data)
    store.blobs.put(data)
    store.name({f"{REGISTRY}/team/tool@{digest}": Descriptor(OCI_MANIFEST, digest, len(data))})
    return digest


def _put(
    store: Store, extra: Mapping[str, object], kind: str, layers: Sequence[bytes], trees: Sequence[bytes]
) -> Manifest:
    diffs = {"type": "layers", "diff_ids": [digest_of(tree) for tree in trees]}
    told = {"architecture": "amd64", "os": "linux", **extra, "rootfs": diffs}
    config = json.dumps(told, separators=(",", ":")).encode()
    for layer in layers:
        take_in(store, layer)
    manifest = render_manifest(
        Descriptor(OCI_CONFIG, store.blobs.put(config), len(config)),
        [Descriptor(kind, digest_of(layer), len(layer)) for layer in layers],
    )
    store.blobs.put(manifest.data)
    return manifest


def _tar(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(data), 0o755
        archive.addfile(entry, io.BytesIO(data))
    return file.getvalue()
