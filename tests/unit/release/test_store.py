# SPDX-License-Identifier: Apache-2.0
"""Blobs come in whole or not at all, names lead to images, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.errors import ExternalError, MediaError, UserError
from muster.release.oci.digest import Digest, digest_of
from muster.release.oci.manifest import OCI_CONFIG, OCI_LAYER, Descriptor, Manifest, render_manifest
from muster.release.store.store import Store, create_store, open_store

DATA = b"some content" * 1000


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return create_store(tmp_path / "store")


def take_in(store: Store, data: bytes, digest: Digest | None = None, size: int | None = None) -> None:
    with store.blobs.receive(digest or digest_of(data), len(data) if size is None else size) as incoming:
        incoming.write(data)
        incoming.finish()


def put_image(store: Store, layer: bytes = DATA) -> Manifest:
    config = store.blobs.put(b"{}")
    take_in(store, layer)
    manifest = render_manifest(
        Descriptor(OCI_CONFIG, config, 2), [Descriptor(OCI_LAYER, digest_of(layer), len(layer))]
    )
    store.blobs.put(manifest.data)
    return manifest


def test_a_blob_has_its_digest_for_a_name(store: Store) -> None:
    take_in(store, DATA)
    assert store.blobs.path(digest_of(DATA)).read_bytes() == DATA
    assert not [*(store.root / "partial").iterdir()]


def test_an_interrupted_blob_goes_on_where_it_was(store: Store) -> None:
    digest = digest_of(DATA)
    with store.blobs.receive(digest, len(DATA)) as incoming:
        incoming.write(DATA[:5000])
    assert store.blobs.size(digest) is None
    with store.blobs.receive(digest, len(DATA)) as incoming:
        assert incoming.offset == 5000
        incoming.write(DATA[5000:])
        incoming.finish()
    assert store.blobs.read(digest, len(DATA)) == DATA


def test_a_truncated_blob_does_not_appear(store: Store) -> None:
    with (
        store.blobs.receive(digest_of(DATA), len(DATA)) as incoming,
        pytest.raises(ExternalError, match="ended after 0 of"),
    ):
        incoming.finish()
    assert store.blobs.size(digest_of(DATA)) is None


def test_what_has_another_digest_is_not_kept(store: Store) -> None:
    with pytest.raises(ExternalError, match="is not what it should be: its content has the digest"):
        take_in(store, b"X" + DATA[1:], digest_of(DATA))
    with store.blobs.receive(digest_of(DATA), len(DATA)) as incoming:
        assert incoming.offset == 0


def test_what_is_larger_than_said_is_not_kept(store: Store) -> None:
    with pytest.raises(ExternalError, match="more than the 10 bytes"):
        take_in(store, DATA, size=10)


def test_a_blob_that_is_here_is_not_taken_twice(store: Store) -> None:
    take_in(store, DATA)
    with store.blobs.receive(digest_of(DATA), len(DATA)) as incoming:
        assert incoming.is_here
        incoming.finish()


def test_damage_is_seen(store: Store) -> None:
    digest = store.blobs.put(b"good")
    store.blobs.path(digest).write_bytes(b"bad!")
    with pytest.raises(MediaError, match="is damaged"):
        store.blobs.read(digest, 100)


def test_names_lead_to_images(store: Store) -> None:
    manifest = put_image(store)
    store.name({"registry.example.com/a/b:v1": manifest.descriptor})
    contents = open_store(store.root).contents()
    assert contents.find("a/b", "v1") == manifest.descriptor
    assert contents.find("a/b", manifest.digest) == manifest.descriptor
    assert contents.find("a/b", "v2") is None
    assert [found.digest for found in store.walk(manifest.descriptor)] == [
        manifest.digest,
        *(blob.digest for blob in manifest.blobs),
    ]
    store.forget(["registry.example.com/a/b:v1"])
    assert not store.contents().images


def test_the_index_is_the_same_whatever_the_order(store: Store, tmp_path: Path) -> None:
    other = create_store(tmp_path / "other")
    images = {f"r.example.com/{name}:1": put_image(store, name.encode()).descriptor for name in "ab"}
    store.name(images)
    for name, image in reversed(images.items()):
        other.name({name: image})
    assert (store.root / "index.json").read_bytes() == (other.root / "index.json").read_bytes()


def test_a_folder_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").touch()
    with pytest.raises(UserError, match="not empty"):
        create_store(tmp_path / "letters")
    with pytest.raises(UserError, match="is not a content store"):
        open_store(tmp_path / "letters")
    with pytest.raises(UserError, match="is not a content store"):
        open_store(tmp_path / "nowhere")


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"imageLayoutVersion": 1}', b"\xff"])
def test_a_damaged_store_is_told(tmp_path: Path, text: bytes) -> None:
    create_store(tmp_path)
    (tmp_path / "oci-layout").write_bytes(text)
    with pytest.raises((MediaError, UserError)):
        open_store(tmp_path)
