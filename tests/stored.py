# SPDX-License-Identifier: Apache-2.0
"""Small images in a content store, made the same every time."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
from dataclasses import dataclass
from pathlib import Path

from muster.release.oci.digest import Digest, digest_of
from muster.release.oci.manifest import (
    OCI_CONFIG,
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
TOOL = f"{REGISTRY}/team/tool:v1"
MULTI = f"{REGISTRY}/team/multi:v1"


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
    tool, inner = put_image(store, "tool", size), put_image(store, "inner", 1000)
    multi = render_index([Descriptor(OCI_MANIFEST, inner.digest, len(inner.data), Platform("amd64"))])
    store.blobs.put(multi.data)
    store.name({TOOL: tool.descriptor, MULTI: multi.descriptor})
    return Stored(store, tool, multi, inner)


def put_image(store: Store, name: str, size: int) -> Manifest:
    """An image with one file that is called like it; it has no name in the index yet."""
    tree = _tar(name, random.Random(name).randbytes(size))
    layer = gzip.compress(tree, compresslevel=0, mtime=0)
    digest = store.blobs.put(layer)
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Cmd": [f"/{name}"]},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(tree)]},
        }
    ).encode()
    manifest = render_manifest(
        Descriptor(OCI_CONFIG, store.blobs.put(config), len(config)),
        [Descriptor(OCI_LAYER_GZIP, digest, len(layer))],
    )
    store.blobs.put(manifest.data)
    return manifest


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


def _tar(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(data), 0o755
        archive.addfile(entry, io.BytesIO(data))
    return file.getvalue()
