# SPDX-License-Identifier: Apache-2.0
"""What a release image of OpenShift says of itself, and what it may not say."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from muster.errors import MediaError, UserError
from muster.release.kinds.description import Content, Description
from muster.release.kinds.known import describe_content, kind_of
from muster.release.kinds.openshift import (
    METADATA,
    REFERENCES,
    find_stream_hash,
    iso_path,
    parse_iso_hash,
    parse_payload,
    stream_path,
)
from muster.release.kinds.reading import merge_descriptions
from muster.release.oci.manifest import Platform
from muster.release.oci.reference import parse_reference

DIGEST = "sha256:" + "1" * 64


def tag(name: str, image: str = f"quay.io/openshift/content@{DIGEST}", versions: str = "") -> dict[str, Any]:
    body: dict[str, Any] = {"name": name, "from": {"kind": "DockerImage", "name": image}}
    return {**body, "annotations": {"io.openshift.build.versions": versions}} if versions else body


def files(
    tags: Any = None, version: str = "4.22.0", metadata: dict[str, str] | None = None, **more: Any
) -> dict[str, bytes]:
    stream = {
        "kind": "ImageStream",
        "apiVersion": "image.openshift.io/v1",
        "metadata": {"name": version},
        "spec": {"tags": [tag("etcd"), tag("machine-os-images")] if tags is None else tags},
    }
    about: dict[str, Any] = {"kind": "cincinnati-metadata-v0", "version": "4.22.0", "previous": ["4.21.9"]}
    about |= {"metadata": metadata or {}, **more}
    return {REFERENCES: json.dumps(stream).encode(), METADATA: json.dumps(about).encode()}


def read(files: dict[str, bytes], *architectures: str) -> Description:
    image = parse_reference(f"registry.example.com/release:1@{DIGEST}")
    platforms = tuple(Platform(each) for each in architectures or ("amd64",))
    return parse_payload(Content(image, platforms, files))


def test_components_have_digests_and_versions() -> None:
    versions = "kubernetes=1.34.2, machine-os=9.6.20260101-0,odd"
    release = read(files([tag("hyperkube", versions=versions), tag("etcd")]))
    assert (release.kind, release.version, release.architectures) == ("openshift", "4.22.0", ("amd64",))
    part = release.part("hyperkube")
    assert part.tag == "4.22.0-hyperkube"
    assert part.image.digest == DIGEST
    assert part.image.name == "quay.io/openshift/content"
    assert part.versions == {"kubernetes": "1.34.2", "machine-os": "9.6.20260101-0"}
    assert release.part("etcd").versions == {}
    assert {"cnv", "odf", "metallb"} <= {offer.id for offer in release.offers}


def test_a_release_for_several_architectures_is_one() -> None:
    multi = files(metadata={"release.openshift.io/architecture": "multi"})
    one, other = read(multi, "amd64"), read(multi, "arm64")
    merged = merge_descriptions([one, other])
    assert merged.architectures == ("amd64", "arm64")
    assert merged.parts == one.parts
    with pytest.raises(MediaError, match="two releases in one"):
        merge_descriptions([one, replace(other, version="4.21.0")])


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="has no component coredns"):
        read(files()).part("coredns")
    for name in (REFERENCES, METADATA):
        rest = files()
        del rest[name]
        with pytest.raises(MediaError, match=f"it has no /{name}"):
            read(rest)


def test_a_kind_is_found_by_what_the_image_has() -> None:
    image = parse_reference(f"registry.example.com/release:1@{DIGEST}")
    release = describe_content(Content(image, (Platform("amd64"),), files()))
    live = kind_of(release).live_image(release, "rhel-10", "x86_64")
    assert live is not None
    assert (live.part.name, live.path) == ("machine-os-images", "coreos/coreos10-x86_64.iso")
    assert live.hash_path == "coreos/coreos10-x86_64.iso.sha256"
    with pytest.raises(UserError, match=r"is not a release: it has neither /release\.json nor"):
        describe_content(Content(image, (Platform("amd64"),), {"etc/passwd": b""}))
    without = read(files([tag("etcd")]))
    with pytest.raises(UserError, match="has no component machine-os-images"):
        kind_of(without).live_image(without, "rhel-9", "x86_64")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (files() | {REFERENCES: b"\xff{"}, "image-references is not JSON"),
        (files() | {REFERENCES: b"[" * 100_000}, "image-references is not JSON"),
        (files() | {REFERENCES: b"[]"}, "image-references is not an object"),
        (files() | {METADATA: b"nothing"}, "release-metadata is not JSON"),
        (files() | {METADATA: b'{"kind": "other"}'}, "'other', not cincinnati-metadata-v0"),
        (files() | {METADATA: b'{"kind": "cincinnati-metadata-v0"}'}, "names no version"),
        (files() | {REFERENCES: b'{"kind": "List"}'}, "'List', not ImageStream"),
        (files(version="4.21.0"), r"is of version '4\.21\.0', but .* '4\.22\.0'"),
        (files([]), "no spec.tags"),
        (files({"a": 1}), "no spec.tags"),
        (files(["x"]), r"spec.tags\[0\] .* has no name"),
        (files([{"name": "etcd"}]), "names no image"),
        (files([tag("etcd", image="quay.io/openshift/content:4.22")]), "not named by its digest"),
        (files([tag("etcd", image="quay.io/Bad Name@" + DIGEST)]), "does not name an image"),
        (files([tag("etcd"), tag("etcd")]), "names etcd twice"),
    ],
)
def test_bad_payloads_are_refused_in_words(bad: dict[str, bytes], why: str) -> None:
    with pytest.raises(MediaError, match=why):
        read(bad)


def test_paths_in_the_image_of_the_machine_os() -> None:
    assert iso_path("rhel-9", "x86_64") == "coreos/coreos-x86_64.iso"
    assert iso_path("rhel-10", "aarch64") == "coreos/coreos10-aarch64.iso"
    assert stream_path("rhel-10") == "coreos/coreos10-stream.json"


def test_the_hash_that_was_published() -> None:
    disk = {"formats": {"iso": {"disk": {"sha256": "AB" * 32}}}}
    data = json.dumps({"architectures": {"x86_64": {"artifacts": {"metal": disk}}}}).encode()
    assert find_stream_hash(data, "x86_64") == "ab" * 32
    assert find_stream_hash(data, "aarch64") == ""
    for nonsense in (b"", b"{", b"[]", b'{"architectures": 3}'):
        assert find_stream_hash(nonsense, "x86_64") == ""


def test_the_hash_beside_the_iso() -> None:
    assert parse_iso_hash(b"A" * 64, "it") == "a" * 64
    assert parse_iso_hash(b"a" * 64 + b"  coreos-x86_64.iso\n", "it") == "a" * 64
    for data in (b"", b"a" * 63, b"x" * 64, b"\xff" * 64):
        with pytest.raises(MediaError, match="it is not a SHA-256"):
            parse_iso_hash(data, "it")
