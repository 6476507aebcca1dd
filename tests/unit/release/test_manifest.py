# SPDX-License-Identifier: Apache-2.0
"""Manifests, digests and names of images, good and bad."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muster.errors import UserError
from muster.release.oci.digest import digest_of, is_digest, parse_digest
from muster.release.oci.manifest import (
    DOCKER_INDEX,
    DOCKER_MANIFEST,
    OCI_CONFIG,
    OCI_INDEX,
    OCI_LAYER_GZIP,
    OCI_MANIFEST,
    Descriptor,
    Platform,
    choose_image,
    parse_manifest,
    render_index,
    render_manifest,
)
from muster.release.oci.reference import parse_reference

ONE = digest_of(b"1")
CONFIG = Descriptor(OCI_CONFIG, ONE, 1)
LAYER = Descriptor(OCI_LAYER_GZIP, digest_of(b"22"), 2)


def test_a_manifest_is_read_as_it_was_written() -> None:
    manifest = render_manifest(CONFIG, [LAYER, LAYER], {"b": "2", "a": "1"})
    assert parse_manifest(manifest.data, "x") == manifest
    assert manifest.blobs == (CONFIG, LAYER)
    assert not manifest.is_index
    assert manifest.descriptor == Descriptor(OCI_MANIFEST, digest_of(manifest.data), len(manifest.data))
    assert list(manifest.annotations) == ["a", "b"]


def test_an_index_has_an_image_for_each_machine() -> None:
    images = [
        Descriptor(OCI_MANIFEST, digest_of(name.encode()), 1, Platform(name)) for name in ("amd64", "arm64")
    ]
    index = render_index(images)
    assert index.is_index
    assert choose_image(index, "arm64", "x") == images[1]
    with pytest.raises(UserError, match="no image for linux/s390x, only for linux/amd64, linux/arm64"):
        choose_image(index, "s390x", "x")


@pytest.mark.parametrize(
    ("body", "beside", "kind"),
    [
        ({"schemaVersion": 2, "config": CONFIG.render(), "layers": []}, "", OCI_MANIFEST),
        ({"schemaVersion": 2, "config": CONFIG.render(), "layers": []}, DOCKER_MANIFEST, DOCKER_MANIFEST),
        ({"schemaVersion": 2, "manifests": []}, "application/json; charset=utf-8", OCI_INDEX),
        ({"schemaVersion": 2, "mediaType": DOCKER_INDEX, "manifests": []}, OCI_INDEX, DOCKER_INDEX),
    ],
)
def test_the_kind_is_found(body: dict[str, Any], beside: str, kind: str) -> None:
    assert parse_manifest(json.dumps(body).encode(), "x", beside).media_type == kind


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<html>", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[]", "it is not an object"),
        (b'{"schemaVersion": 1}', "none of OCI's"),
        (b'{"schemaVersion": 2}', "it has no config"),
        (b'{"schemaVersion": 2, "config": 3, "layers": []}', "config is not an object"),
        (b'{"schemaVersion": 2, "manifests": 3}', "no list of manifests"),
        (b'{"schemaVersion": 2, "manifests": [{}]}', r"manifests\[0\] has no mediaType"),
        (
            json.dumps({"schemaVersion": 2, "manifests": [{**CONFIG.render(), "size": True}]}).encode(),
            r"manifests\[0\] has no size",
        ),
        (
            json.dumps({"schemaVersion": 2, "manifests": [{**CONFIG.render(), "digest": "md5:0"}]}).encode(),
            "is not a digest",
        ),
    ],
)
def test_what_is_no_manifest_is_told(body: bytes, why: str) -> None:
    with pytest.raises(UserError, match=why):
        parse_manifest(body, "registry.example.com/a:1")


@pytest.mark.parametrize("text", ["", "sha256:", ONE.upper(), ONE[:-1], f"{ONE}\n", "sha512:" + "0" * 128])
def test_digests_have_one_form(text: str) -> None:
    assert not is_digest(text)
    with pytest.raises(UserError, match="is not a digest"):
        parse_digest(text)


@pytest.mark.parametrize(
    ("text", "registry", "repository", "wanted"),
    [
        ("r.example.com/a", "r.example.com", "a", "latest"),
        ("r.example.com:5000/a/b:v1", "r.example.com:5000", "a/b", "v1"),
        (f"[2001:db8::1]:5000/a@{ONE}", "[2001:db8::1]:5000", "a", ONE),
        (f"localhost/a:v1@{ONE}", "localhost", "a", ONE),
    ],
)
def test_names_of_images(text: str, registry: str, repository: str, wanted: str) -> None:
    found = parse_reference(text)
    assert (found.registry, found.repository, found.wanted) == (registry, repository, wanted)
    assert str(found).startswith(text)
    assert parse_reference(str(found)) == found


@pytest.mark.parametrize("text", ["", "a", "https://r.example.com/a", "r.example.com/A", "r.example.com/a@b"])
def test_names_that_are_none(text: str) -> None:
    with pytest.raises(UserError, match="does not name an image"):
        parse_reference(text)
