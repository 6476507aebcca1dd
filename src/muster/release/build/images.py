# SPDX-License-Identifier: Apache-2.0
"""Images of layers: their configuration and their manifest, the same bytes for the same layers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field

from muster.frozen import dataclass
from muster.release.build.layers import Layer
from muster.release.oci.digest import digest_of
from muster.release.oci.manifest import OCI_CONFIG, Descriptor, Manifest, render_manifest


@dataclass(frozen=True)
class Draft:
    """What an image says of itself."""

    architecture: str
    created: str
    entrypoint: tuple[str, ...] = ()
    user: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Made:
    """An image, whole but for its layers' bytes."""

    config: bytes
    manifest: Manifest

    @property
    def size_bytes(self) -> int:
        """Of all that belongs to it."""
        return len(self.manifest.data) + sum(blob.size_bytes for blob in self.manifest.blobs)


def make_image(draft: Draft, layers: tuple[Layer, ...]) -> Made:
    """The configuration and the manifest of an image."""
    settings: dict[str, object] = {}
    if draft.entrypoint:
        settings["Entrypoint"] = list(draft.entrypoint)
        settings["Env"] = ["PATH=/usr/bin"]
    if draft.user:
        settings["User"] = draft.user
    settings["Labels"] = dict(sorted(draft.annotations.items()))
    body = {
        "created": draft.created,
        "architecture": draft.architecture,
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        "history": [{"created": draft.created, "created_by": "muster release build"} for _ in layers],
    }
    config = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    descriptor = Descriptor(OCI_CONFIG, digest_of(config), len(config))
    return Made(config, render_manifest(descriptor, [layer.blob for layer in layers], draft.annotations))
