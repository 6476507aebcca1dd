# SPDX-License-Identifier: Apache-2.0
"""Manifests and indexes, read into plain data. Their bytes are what has the digest, so they are kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.release.oci.digest import Digest, digest_of, parse_digest

OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX: Final = "application/vnd.oci.image.index.v1+json"
OCI_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
OCI_LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
OCI_LAYER_GZIP: Final = f"{OCI_LAYER}+gzip"
OCI_LAYER_ZSTD: Final = f"{OCI_LAYER}+zstd"
DOCKER_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_INDEX: Final = "application/vnd.docker.distribution.manifest.list.v2+json"
MANIFESTS: Final = (OCI_MANIFEST, DOCKER_MANIFEST)
INDEXES: Final = (OCI_INDEX, DOCKER_INDEX)
LARGEST_MANIFEST: Final = 4 << 20
"""What registries accept; more is not read."""


@dataclass(frozen=True)
class Platform:
    """What an image of an index runs on."""

    architecture: str
    """As Go names it: amd64, arm64."""
    os: str = "linux"
    variant: str = ""


@dataclass(frozen=True)
class Descriptor:
    """Content, by what it is, how large it is and what it hashes to."""

    media_type: str
    digest: Digest
    size_bytes: int
    platform: Platform | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)

    def render(self) -> dict[str, Any]:
        """As it stands in a manifest."""
        shown: dict[str, Any] = {
            "mediaType": self.media_type,
            "digest": self.digest,
            "size": self.size_bytes,
        }
        if self.platform:
            shown["platform"] = {"architecture": self.platform.architecture, "os": self.platform.os}
            if self.platform.variant:
                shown["platform"]["variant"] = self.platform.variant
        if self.annotations:
            shown["annotations"] = dict(self.annotations)
        return shown


@dataclass(frozen=True)
class Manifest:
    """A manifest of one image, or an index of several."""

    media_type: str
    data: bytes
    config: Descriptor | None = None
    """None in an index."""
    layers: tuple[Descriptor, ...] = ()
    manifests: tuple[Descriptor, ...] = ()
    """The images of an index."""
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> Digest:
        return digest_of(self.data)

    @property
    def is_index(self) -> bool:
        return self.media_type in INDEXES

    @property
    def blobs(self) -> tuple[Descriptor, ...]:
        """What belongs to it besides other manifests, without repetition, in its order."""
        found = [self.config, *self.layers] if self.config else list(self.layers)
        return tuple({blob.digest: blob for blob in found}.values())

    @property
    def descriptor(self) -> Descriptor:
        return Descriptor(self.media_type, self.digest, len(self.data))


def parse_manifest(data: bytes, origin: str, media_type: str = "") -> Manifest:
    """Read a manifest; ``origin`` names it in messages, ``media_type`` is what came with it, if anything."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _bad(origin, "it is not JSON") from error
    if not isinstance(body, dict):
        raise _bad(origin, "it is not an object")
    kind = _kind(body, media_type)
    if kind not in (*MANIFESTS, *INDEXES):
        raise _bad(origin, f"its type {kind[:100]!r} is none of OCI's or Docker's version 2")
    annotations = _annotations(body)
    if kind in INDEXES:
        return Manifest(
            kind, data, manifests=_descriptors(body, "manifests", origin), annotations=annotations
        )
    if "config" not in body:
        raise _bad(origin, "it has no config")
    config = _descriptor(body["config"], "config", origin)
    return Manifest(kind, data, config, _descriptors(body, "layers", origin), annotations=annotations)


def render_manifest(
    config: Descriptor, layers: Iterable[Descriptor], annotations: Mapping[str, str] | None = None
) -> Manifest:
    """An image's manifest, the same bytes for the same parts."""
    body: dict[str, Any] = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": config.render(),
        "layers": [layer.render() for layer in layers],
    }
    return _rendered(body, annotations)


def render_index(images: Iterable[Descriptor], annotations: Mapping[str, str] | None = None) -> Manifest:
    """An index of images, the same bytes for the same images."""
    body: dict[str, Any] = {
        "schemaVersion": 2,
        "mediaType": OCI_INDEX,
        "manifests": [image.render() for image in images],
    }
    return _rendered(body, annotations)


def choose_image(index: Manifest, architecture: str, origin: str) -> Descriptor:
    """The image of an index that runs on an architecture, which is named as Go does."""
    for image in index.manifests:
        if image.platform and (image.platform.os, image.platform.architecture) == ("linux", architecture):
            return image
    there = ", ".join(
        sorted(
            {
                f"{image.platform.os}/{image.platform.architecture}"
                for image in index.manifests
                if image.platform
            }
        )
    )
    raise UserError(
        f"{origin} has no image for linux/{architecture}, only for {there or 'nothing that it names'}",
        hint="take a release of that architecture, or one that is for several",
    )


def _rendered(body: dict[str, Any], annotations: Mapping[str, str] | None) -> Manifest:
    if annotations:
        body["annotations"] = dict(sorted(annotations.items()))
    data = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    return parse_manifest(data, "the manifest")


def _kind(body: Mapping[str, Any], media_type: str) -> str:
    """The type that a manifest says it has, else the one that came with it, else what its fields tell."""
    said = body.get("mediaType") or media_type.partition(";")[0].strip()
    if isinstance(said, str) and said and said != "application/json":
        return said
    if body.get("schemaVersion") != 2:
        return "application/vnd.docker.distribution.manifest.v1+json"
    return OCI_INDEX if "manifests" in body else OCI_MANIFEST


def _descriptors(body: Mapping[str, Any], name: str, origin: str) -> tuple[Descriptor, ...]:
    entries = body.get(name)
    if not isinstance(entries, list):
        raise _bad(origin, f"it has no list of {name}")
    return tuple(_descriptor(entry, f"{name}[{number}]", origin) for number, entry in enumerate(entries))


def _descriptor(entry: Any, where: str, origin: str) -> Descriptor:
    if not isinstance(entry, dict):
        raise _bad(origin, f"{where} is not an object")
    media_type, digest, size = entry.get("mediaType"), entry.get("digest"), entry.get("size")
    if not isinstance(media_type, str) or not isinstance(digest, str):
        raise _bad(origin, f"{where} has no mediaType or no digest")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise _bad(origin, f"{where} has no size")
    try:
        checked = parse_digest(digest)
    except UserError as error:
        raise _bad(origin, f"{where}: {error.message}") from error
    return Descriptor(media_type, checked, size, _platform(entry.get("platform")), _annotations(entry))


def _platform(entry: Any) -> Platform | None:
    if not isinstance(entry, dict):
        return None
    architecture, system, variant = (entry.get(key) or "" for key in ("architecture", "os", "variant"))
    return Platform(str(architecture), str(system), str(variant))


def _annotations(entry: Mapping[str, Any]) -> dict[str, str]:
    found = entry.get("annotations")
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _bad(origin: str, why: str) -> UserError:
    return UserError(
        f"the manifest of {origin} cannot be used: {why}",
        hint="check that the name is that of an image, and that what serves it is a registry",
    )
