# SPDX-License-Identifier: Apache-2.0
"""A release of the shape that OpenShift's have, small and made up: the same files at the same places."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from muster.release.model import (
    KIND_ANNOTATION,
    RELEASE_FILE,
    AddOn,
    Component,
    Needs,
    Release,
    ReleaseImage,
)
from muster.release.oci.digest import digest_of
from muster.release.oci.manifest import (
    DOCKER_INDEX,
    DOCKER_MANIFEST,
    OCI_CONFIG,
    OCI_LAYER_GZIP,
    Descriptor,
    Manifest,
    Platform,
    parse_manifest,
    render_manifest,
)
from muster.release.oci.reference import Reference
from muster.release.store.store import Store
from muster.release.text import render_release

VERSION = "4.22.0"
REGISTRY = "quay.example.com"
RELEASE = "ocp/release"
CONTENT = "ocp/content"
RPM = {"amd64": "x86_64", "arm64": "aarch64"}


class Keeper(Protocol):
    """Something that takes content: a registry of the tests, or a store."""

    def add_blob(self, data: bytes, media_type: str = ...) -> Descriptor: ...

    def add_manifest(self, repository: str, tag: str, manifest: Manifest) -> Manifest: ...


class StoreKeeper:
    """A store as the tests fill it."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add_blob(self, data: bytes, media_type: str = OCI_LAYER_GZIP) -> Descriptor:
        return Descriptor(media_type, self.store.blobs.put(data), len(data))

    def add_manifest(self, repository: str, tag: str, manifest: Manifest) -> Manifest:
        self.store.blobs.put(manifest.data)
        name = f":{tag}" if tag else f"@{manifest.digest}"
        self.store.name({f"{REGISTRY}/{repository}{name}": manifest.descriptor})
        return manifest


def pack(files: Mapping[str, bytes], *, compressed: bool = True) -> bytes:
    """A layer: the same bytes for the same files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), 1, mtime=0) if compressed else packed.getvalue()


def add_image(keeper: Keeper, repository: str, layers: list[bytes], **more: Any) -> Manifest:
    """An image as Docker's version 2 has it, which is what OpenShift's images are."""
    tag, architecture = more.pop("tag", ""), more.pop("architecture", "amd64")
    config = json.dumps({"architecture": architecture, "os": "linux", "config": more}).encode()
    body = {
        "schemaVersion": 2,
        "mediaType": DOCKER_MANIFEST,
        "config": keeper.add_blob(config, OCI_CONFIG).render(),
        "layers": [keeper.add_blob(layer, OCI_LAYER_GZIP).render() for layer in layers],
    }
    return keeper.add_manifest(repository, tag, parse_manifest(json.dumps(body).encode(), repository))


def add_index(keeper: Keeper, repository: str, tag: str, images: Mapping[str, Manifest]) -> Manifest:
    entries = []
    for architecture, image in images.items():
        one = image.descriptor
        platform = Platform(architecture)
        entries.append(Descriptor(one.media_type, one.digest, one.size_bytes, platform).render())
    body = {"schemaVersion": 2, "mediaType": DOCKER_INDEX, "manifests": entries}
    return keeper.add_manifest(repository, tag, parse_manifest(json.dumps(body).encode(), repository))


@dataclass
class Shape:
    """What is particular about a release."""

    architectures: tuple[str, ...] = ("amd64",)
    version: str = VERSION
    iso: bytes = b"an ISO"
    stream: str = "coreos"
    sha256: bytes | None = None
    """What lies beside the ISO, instead of the right one."""
    published: str = ""
    """What the metadata tells of the ISO, instead of the right hash."""
    components: tuple[str, ...] = ("cli", "etcd", "hyperkube")
    machine_os: bool = True
    files: dict[str, bytes | None] = field(default_factory=dict)
    """Files of the release image that are other than they should be; None for none."""


@dataclass(frozen=True)
class Made:
    """A release that is somewhere."""

    image: Manifest
    components: Mapping[str, Manifest]
    isos: Mapping[str, bytes]
    """By architecture."""

    @property
    def reference(self) -> Reference:
        return Reference(REGISTRY, RELEASE, "", self.image.digest)


def make_release(keeper: Keeper, shape: Shape | None = None) -> Made:
    """Make a release and all its components."""
    shape = shape or Shape()
    isos = {each: shape.iso + each.encode() for each in shape.architectures}
    components = {name: _component(keeper, name, shape) for name in shape.components}
    if shape.machine_os:
        components["machine-os-images"] = _machine_os(keeper, shape, isos)
    files = _manifests(shape, components)
    tag = f"{shape.version}-{_suffix(shape)}"
    below = pack({"usr/bin/cluster-version-operator": b"program " * 500})
    images = {
        each: add_image(keeper, RELEASE, [below, pack(files)], architecture=each, Labels=_labels(shape))
        for each in shape.architectures
    }
    if len(images) == 1:
        image = keeper.add_manifest(RELEASE, tag, next(iter(images.values())))
    else:
        image = add_index(keeper, RELEASE, tag, images)
    return Made(image, components, isos)


def _suffix(shape: Shape) -> str:
    return "multi" if len(shape.architectures) > 1 else RPM[shape.architectures[0]]


def _labels(shape: Shape) -> dict[str, str]:
    return {"io.openshift.release": shape.version}


def _component(keeper: Keeper, name: str, shape: Shape) -> Manifest:
    shared = pack({"etc/os-release": b"one for all " * 1000})
    return _for_all(
        keeper, shape, lambda each: [shared, pack({f"usr/bin/{name}": f"{name} for {each} ".encode() * 2000})]
    )


def _machine_os(keeper: Keeper, shape: Shape, isos: Mapping[str, bytes]) -> Manifest:
    def layers(architecture: str) -> list[bytes]:
        name = f"coreos/{shape.stream}-{RPM[architecture]}.iso"
        right = hashlib.sha256(isos[architecture]).hexdigest()
        disk = {"location": "https://example.com/live.iso", "sha256": shape.published or right}
        artifacts = {"metal": {"formats": {"iso": {"disk": disk}}}}
        stream = {"stream": "made up", "architectures": {RPM[architecture]: {"artifacts": artifacts}}}
        files = {
            f"coreos/{shape.stream}-stream.json": json.dumps(stream).encode(),
            name: isos[architecture],
            f"{name}.sha256": right.encode() if shape.sha256 is None else shape.sha256,
        }
        return [pack({"etc/os-release": b"another"}), pack(files), pack({"bin/copy-iso": b"#!/bin/bash"})]

    return _for_all(keeper, shape, layers)


def _for_all(keeper: Keeper, shape: Shape, layers: Any) -> Manifest:
    images = {
        each: add_image(keeper, CONTENT, layers(each), architecture=each) for each in shape.architectures
    }
    return next(iter(images.values())) if len(images) == 1 else add_index(keeper, CONTENT, "", images)


def _manifests(shape: Shape, components: Mapping[str, Manifest]) -> dict[str, bytes]:
    tags = [
        {
            "name": name,
            "annotations": {"io.openshift.build.versions": f"{name}=1.2.3"},
            "from": {"kind": "DockerImage", "name": f"{REGISTRY}/{CONTENT}@{image.digest}"},
        }
        for name, image in sorted(components.items())
    ]
    stream = {
        "kind": "ImageStream",
        "apiVersion": "image.openshift.io/v1",
        "metadata": {"name": shape.version},
        "spec": {"lookupPolicy": {"local": False}, "tags": tags},
    }
    about: dict[str, Any] = {"kind": "cincinnati-metadata-v0", "version": shape.version, "previous": []}
    if len(shape.architectures) > 1:
        about["metadata"] = {"release.openshift.io/architecture": "multi"}
    files: dict[str, bytes | None] = {
        "release-manifests/0000_00_cluster-version-operator_03_deployment.yaml": b"kind: Deployment\n",
        "release-manifests/image-references": json.dumps(stream, indent=2).encode(),
        "release-manifests/release-metadata": json.dumps(about).encode(),
    }
    files |= shape.files
    return {name: data for name, data in files.items() if data is not None}


def make_kubernetes(keeper: Keeper, architecture: str = "amd64") -> Made:
    """A release of the shape that ours have."""
    components, images = [], []
    made: dict[str, Manifest] = {}
    for name in ("kube", "traefik"):
        program = f"{name} for {architecture} ".encode() * 500
        components.append(
            Component(name, name.title(), "v1.0.0", "Apache-2.0", name, digest_of(program), len(program))
        )
        layer = pack({f"usr/bin/{name}": program})
        made[name] = add_image(keeper, f"kubernetes/{name}", [layer], architecture=architecture)
        images.append(
            ReleaseImage(
                name, f"{REGISTRY}/kubernetes/{name}", f"v1.0.0-{architecture}", made[name].descriptor,
                len(layer), (name,),
            )
        )  # fmt: skip
    add_on = AddOn(
        "traefik", "Traefik", "v1.0.0", "ingress", "Lets requests in.", ("traefik",), (), Needs(), Needs(),
        (), (), (),
    )  # fmt: skip
    release = Release(
        "kubernetes", "v1.36.3", architecture, f"{REGISTRY}/kubernetes/release", "2026-01-01T00:00:00Z",
        "0.1", "go1.26", "1.5.7", tuple(components), tuple(images), (add_on,),
    )  # fmt: skip
    layer = pack({RELEASE_FILE: render_release(release)})
    config = keeper.add_blob(json.dumps({"architecture": architecture, "os": "linux"}).encode(), OCI_CONFIG)
    own = render_manifest(config, [keeper.add_blob(layer, OCI_LAYER_GZIP)], {KIND_ANNOTATION: "kubernetes"})
    return Made(keeper.add_manifest("kubernetes/release", release.tag, own), made, {})
