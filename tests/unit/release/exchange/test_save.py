# SPDX-License-Identifier: Apache-2.0
"""Archives that are written: the same bytes every time, and nothing damaged in them."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from muster.errors import ExternalError, MediaError, UserError
from muster.release.store.exchange.bring import bring_images
from muster.release.store.exchange.names import settle_names
from muster.release.store.exchange.opening import open_source
from muster.release.store.exchange.save import new_file, save_archive
from muster.release.store.store import Store, create_store
from tests.stores import NAME, OTHER, layer_path, make_store, noise, put_image, put_index


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_store(tmp_path / "store")


def save(store: Store, *, docker: bool = False) -> bytes:
    out = io.BytesIO()
    size = save_archive(store, store.contents().images, out.write, docker=docker)
    assert size == len(out.getvalue())
    assert size % 10240 == 0
    return out.getvalue()


def test_the_same_images_give_the_same_bytes(store: Store, tmp_path: Path) -> None:
    other = create_store(tmp_path / "other")
    put_image(other, [noise(9)])
    put_image(other, [noise(1), noise(3)], OTHER)
    put_image(other, [noise(1), noise(2)], NAME)
    assert save(store) == save(other)


def test_nothing_of_this_machine_is_in_it(store: Store) -> None:
    with tarfile.open(fileobj=io.BytesIO(save(store))) as archive:
        names = archive.getnames()
        assert names[:4] == ["oci-layout", "index.json", "blobs", "blobs/sha256"]
        assert names[4:] == sorted(names[4:])
        for entry in archive:
            assert (entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname) == (0, 0, 0, "", "")


@pytest.mark.parametrize("docker", [False, True])
def test_what_was_saved_is_loaded(store: Store, tmp_path: Path, *, docker: bool) -> None:
    path = tmp_path / "saved.tar"
    with new_file(path) as write:
        save_archive(store, store.contents().images, write, docker=docker)
    loaded = create_store(tmp_path / "loaded")
    with open_source(path, tmp_path) as source:
        bring_images(loaded, source, settle_names(source.images()))
    assert loaded.index() == store.index()
    assert loaded.blobs.everything() == store.blobs.everything()


def test_the_table_for_docker(store: Store) -> None:
    image = store.contents().images[NAME]
    store.name({f"r.example.com/pinned@{image.digest}": image})
    with tarfile.open(fileobj=io.BytesIO(save(store, docker=True))) as archive:
        table = json.load(archive.extractfile("manifest.json") or io.BytesIO())
        assert sorted(tag for entry in table for tag in entry["RepoTags"]) == [OTHER, NAME]
        for entry in table:
            assert {entry["Config"], *entry["Layers"]} <= set(archive.getnames())


def test_docker_takes_no_image_for_several_architectures(store: Store) -> None:
    put_index(store, [put_image(store, [noise(5)])], "r.example.com/multi:1")
    with pytest.raises(UserError, match=r"r\.example\.com/multi:1 is for several architectures"):
        save(store, docker=True)


@pytest.mark.parametrize("data", [b"x" * 20_000, b"x"])
def test_a_damaged_blob_is_not_passed_on(store: Store, tmp_path: Path, data: bytes) -> None:
    layer_path(store, 2).write_bytes(data)
    with pytest.raises(MediaError), new_file(tmp_path / "saved.tar") as write:
        save_archive(store, store.contents().images, write, docker=False)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_text("mine")
    with pytest.raises(UserError, match="is there already"), new_file(path) as write:
        write(b"x")
    assert path.read_text() == "mine"
    with new_file(path, replace=True) as write:
        write(b"new")
    assert path.read_text() == "new"


def test_a_place_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match="cannot write"), new_file(tmp_path / "no/a.tar") as write:
        write(b"x")


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".a.tar.0123abcd.part").touch()
    with new_file(tmp_path / "a.tar") as write:
        write(b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar"]
