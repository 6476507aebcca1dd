# SPDX-License-Identifier: Apache-2.0
"""Blobs come in whole or not at all, names lead to images, and nothing else changes."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from muster.errors import ExternalError, MediaError, UserError
from muster.release.oci.digest import digest_of
from muster.release.store import incoming
from muster.release.store.store import Store, create_store, open_store
from tests.stores import NAME, make_store, noise, put_image, take_in

DATA = b"some content" * 1000
REF = "org.opencontainers.image.ref.name"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return create_store(tmp_path / "store")


def test_a_blob_has_its_digest_for_a_name(store: Store) -> None:
    take_in(store, DATA)
    assert store.blobs.path(digest_of(DATA)).read_bytes() == DATA
    assert not [*(store.root / "partial").iterdir()]


def test_an_interrupted_blob_goes_on_where_it_was(store: Store) -> None:
    digest = digest_of(DATA)
    with store.blobs.receive(digest, len(DATA)) as coming:
        coming.write(DATA[:5000])
    assert store.blobs.size(digest) is None
    with store.blobs.receive(digest, len(DATA)) as coming:
        assert coming.offset == 5000
        coming.write(DATA[5000:])
        coming.finish()
    assert store.blobs.read(digest, len(DATA)) == DATA


def test_a_truncated_blob_does_not_appear(store: Store) -> None:
    with (
        store.blobs.receive(digest_of(DATA), len(DATA)) as coming,
        pytest.raises(ExternalError, match="ended after 0 of"),
    ):
        coming.finish()
    assert store.blobs.size(digest_of(DATA)) is None


def test_what_has_another_digest_is_not_kept(store: Store) -> None:
    with pytest.raises(ExternalError, match="is not what it should be: its content has the digest"):
        take_in(store, b"X" + DATA[1:], digest_of(DATA))
    with store.blobs.receive(digest_of(DATA), len(DATA)) as coming:
        assert coming.offset == 0


def test_what_is_larger_than_said_is_not_kept(store: Store) -> None:
    with pytest.raises(ExternalError, match="more than the 10 bytes"):
        take_in(store, DATA, size=10)


def test_a_blob_that_is_here_is_not_taken_twice(store: Store) -> None:
    take_in(store, DATA)
    with store.blobs.receive(digest_of(DATA), len(DATA)) as coming:
        assert coming.is_here
        coming.finish()


def test_damage_is_seen(store: Store) -> None:
    digest = store.blobs.put(b"good")
    store.blobs.path(digest).write_bytes(b"bad!")
    with pytest.raises(MediaError, match="is damaged"):
        store.blobs.read(digest, 100)


def test_names_lead_to_images(store: Store) -> None:
    manifest = put_image(store, [DATA])
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
    images = {f"r.example.com/{name}:1": put_image(store, [name.encode()]).descriptor for name in "ab"}
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


def test_a_blob_of_the_wrong_size_is_taken_again(store: Store) -> None:
    take_in(store, DATA)
    store.blobs.path(digest_of(DATA)).write_bytes(DATA[:100])
    take_in(store, DATA)
    small = store.blobs.put(b"small")
    store.blobs.path(small).write_bytes(b"")
    store.blobs.put(b"small")
    assert store.blobs.read(digest_of(DATA), len(DATA)) == DATA
    assert store.blobs.read(small, 5) == b"small"


def test_a_large_blob_is_hashed_while_it_is_written(store: Store) -> None:
    data = noise(1, 9 << 20)
    with store.blobs.receive(digest_of(data), len(data)) as coming:
        buffer = bytearray(1 << 20)
        for start in range(0, len(data), len(buffer)):
            buffer[:] = data[start : start + len(buffer)]
            coming.write(memoryview(buffer))
        coming.finish()
    assert store.blobs.path(digest_of(data)).read_bytes() == data


def test_a_disk_that_fails_while_it_writes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is gone on with that may not be on the disk, although it can be read."""

    def fail(*_range: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    data = noise(1, 9 << 20)
    monkeypatch.setattr(incoming, "_sync_range", fail)
    with pytest.raises(ExternalError, match="input/output error"):
        take_in(store, data)
    monkeypatch.undo()
    assert not store.blobs.partial()
    with store.blobs.receive(digest_of(data), len(data)) as again:
        assert again.offset == 0


def test_a_pipe_is_no_blob(store: Store) -> None:
    digest = digest_of(b"pipe")
    take_in(store, b"other")
    os.mkfifo(store.blobs.path(digest))
    with pytest.raises(MediaError, match="is not a file"):
        store.blobs.read(digest, 10)


def test_what_interrupted_transfers_left_is_removed(store: Store) -> None:
    with store.blobs.receive(digest_of(DATA), len(DATA)) as coming:
        coming.write(DATA[:5000])
    with store.blobs.receive(digest_of(b"x"), 9) as coming:
        coming.write(b"12345")
        assert store.blobs.remove_partial() >= 5000
        coming.write(b"6789")
        assert store.blobs.partial()
    assert store.blobs.remove_partial() >= 9
    assert not (store.root / "partial").exists()


def test_names_are_those_of_images(store: Store) -> None:
    with pytest.raises(UserError, match="does not name an image"):
        store.name({"latest": put_image(store, [DATA]).descriptor})


def test_what_other_tools_wrote_into_the_index_stays(store: Store) -> None:
    """Entries without a name, and with a name that is none of ours."""
    first, second = put_image(store, [b"a"]).descriptor, put_image(store, [b"b"]).descriptor
    entries = [{**first.render()}, {**second.render(), "annotations": {REF: "latest"}}]
    index = {"schemaVersion": 2, "manifests": entries}
    (store.root / "index.json").write_text(json.dumps(index))
    store.name({NAME: put_image(store, [b"c"]).descriptor})
    contents = store.contents()
    assert contents.nameless == (first,)
    assert set(contents.images) == {"latest", NAME}
    assert [reference.repository for reference, _ in contents.references()] == ["app/web"]


@pytest.mark.parametrize("left", ["index.json", ".index.json.0123abcd.part", ".index.lock"])
def test_an_interrupted_creation_is_gone_on_with(tmp_path: Path, left: str) -> None:
    create_store(tmp_path / "done")
    place = tmp_path / "store"
    place.mkdir()
    data = (tmp_path / "done" / "index.json").read_bytes() if left == "index.json" else b""
    (place / left).write_bytes(data)
    assert not create_store(place).contents().images


def test_an_index_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text("{}")
    with pytest.raises(UserError, match="not empty"):
        create_store(tmp_path)


def test_creating_a_store_that_is_there_changes_nothing(tmp_path: Path) -> None:
    make_store(tmp_path)
    assert NAME in create_store(tmp_path).contents().images
