# SPDX-License-Identifier: Apache-2.0
"""Small images, and stores that hold them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

from muster.release.oci.digest import Digest, digest_of
from muster.release.oci.manifest import (
    OCI_CONFIG,
    OCI_LAYER,
    Descriptor,
    Manifest,
    Platform,
    render_index,
    render_manifest,
)
from muster.release.store.store import Store, create_store

NAME = "registry.example.com/app/web:v1"
OTHER = "registry.example.com/app/db:v2"


def noise(seed: int, size: int = 20_000) -> bytes:
    """Bytes that nothing compresses, the same in every run."""
    return random.Random(seed).randbytes(size)


def take_in(store: Store, data: bytes, digest: Digest | None = None, size: int | None = None) -> None:
    with store.blobs.receive(digest or digest_of(data), len(data) if size is None else size) as incoming:
        if not incoming.is_here:
            incoming.write(data[incoming.offset :])
        incoming.finish()


def put_image(store: Store, layers: Sequence[bytes], name: str = "") -> Manifest:
    """Keep an image; with a name it is found."""
    diffs = [digest_of(layer) for layer in layers]
    config = json.dumps(
        {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": diffs}},
        separators=(",", ":"),
    ).encode()
    for layer in layers:
        take_in(store, layer)
    manifest = render_manifest(
        Descriptor(OCI_CONFIG, store.blobs.put(config), len(config)),
        [Descriptor(OCI_LAYER, digest_of(layer), len(layer)) for layer in layers],
    )
    store.blobs.put(manifest.data)
    if name:
        store.name({name: manifest.descriptor})
    return manifest


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


def make_store(root: Path) -> Store:
    """Two images that share a layer."""
    store = create_store(root)
    put_image(store, [noise(1), noise(2)], NAME)
    put_image(store, [noise(1), noise(3)], OTHER)
    return store


def layer_path(store: Store, seed: int) -> Path:
    return store.blobs.path(digest_of(noise(seed)))
