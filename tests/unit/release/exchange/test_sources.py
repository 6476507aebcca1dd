# SPDX-License-Identifier: Apache-2.0
"""What people have is recognised, and all of its images are found."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from muster.errors import ExternalError, MediaError, MusterError, UserError
from muster.release.oci.digest import digest_of
from muster.release.oci.manifest import OCI_LAYER, OCI_LAYER_GZIP, parse_manifest
from muster.release.store.exchange import tree as trees
from muster.release.store.exchange.docker import full_name
from muster.release.store.exchange.opening import open_source
from muster.release.store.exchange.source import Found
from muster.release.store.store import Store
from tests.stores import NAME, OTHER, make_store, noise, put_image, put_index
from tests.unit.release.exchange.sources import docker_files, pack_folder, registry_storage, write_tar

LAYERS = (noise(1), noise(2))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_store(tmp_path / "store")


def images(path: Path, registry: str = "localhost") -> tuple[Found, ...]:
    with open_source(path, path.parent, registry) as source:
        return source.images()


def annotate(store: Store, annotations: dict[str, str]) -> None:
    index = json.loads((store.root / "index.json").read_bytes())
    index["manifests"] = [{**index["manifests"][0], "annotations": annotations}]
    (store.root / "index.json").write_text(json.dumps(index))


def test_a_layout_in_a_folder_and_in_archives(store: Store, tmp_path: Path) -> None:
    plain = pack_folder(store.root, tmp_path / "layout.tar")
    packed = tmp_path / "layout.tar.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for path in (store.root, plain, packed):
        assert [found.name for found in images(path)] == [OTHER, NAME]
        with open_source(path, tmp_path) as source:
            extent = source.find(digest_of(noise(2)))
            assert extent is not None
            assert extent.read(30_000) == noise(2)
            assert source.find(digest_of(b"nothing")) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["layout.tar", "layout.tar.gz", "store"]


@pytest.mark.parametrize(
    ("annotations", "name", "tag"),
    [
        ({"org.opencontainers.image.ref.name": "v1"}, "", "v1"),
        ({}, "", ""),
        (
            {
                "org.opencontainers.image.ref.name": "v1",
                "io.containerd.image.name": "docker.io/library/a:v1",
            },
            "docker.io/library/a:v1",
            "",
        ),
    ],
)
def test_names_of_other_tools(store: Store, annotations: dict[str, str], name: str, tag: str) -> None:
    annotate(store, annotations)
    (found,) = images(store.root)
    assert (found.name, found.tag) == (name, tag)


def test_an_archive_of_docker_save(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "saved.tar", docker_files(LAYERS, ["web:v1", "r.example.com/web:v1"]))
    with open_source(path, tmp_path) as source:
        found = source.images()
        manifest = parse_manifest(source.manifest(found[0].image.digest), "x")
    assert [each.name for each in found] == ["docker.io/library/web:v1", "r.example.com/web:v1"]
    assert [layer.digest for layer in manifest.layers] == [digest_of(layer) for layer in LAYERS]
    assert {layer.media_type for layer in manifest.layers} == {OCI_LAYER}
    again = write_tar(tmp_path / "again.tar", dict(reversed(docker_files(LAYERS, None).items())))
    assert images(again)[0] == Found(found[0].image), "the same manifest, whatever the order"


def test_layers_that_are_links_to_others(tmp_path: Path) -> None:
    """Docker wrote a layer that two images share once, and a link for the other."""
    files = docker_files((noise(1), noise(1)), ["web:v1"])
    del files["11/layer.tar"]
    path = write_tar(tmp_path / "saved.tar", files, {"11/layer.tar": "../00/layer.tar"})
    with open_source(path, tmp_path) as source:
        manifest = parse_manifest(source.manifest(source.images()[0].image.digest), "x")
    assert [layer.digest for layer in manifest.layers] == [digest_of(noise(1))] * 2
    loop = write_tar(tmp_path / "loop.tar", files, {"11/layer.tar": "layer.tar"})
    with pytest.raises(MediaError, match=r"there is no file '11/layer\.tar', which it needs"):
        images(loop)


def test_compressed_layers_stay_as_they_are(tmp_path: Path) -> None:
    files = docker_files(LAYERS, ["web:v1"], packed=True)
    with open_source(write_tar(tmp_path / "saved.tar", files), tmp_path) as source:
        manifest = parse_manifest(source.manifest(source.images()[0].image.digest), "x")
        assert {layer.media_type for layer in manifest.layers} == {OCI_LAYER_GZIP}
        extent = source.find(manifest.layers[0].digest)
        assert extent is not None
        assert extent.read(30_000) == files["00/layer.tar"]
    files["00/layer.tar"] = gzip.compress(b"something else")
    with pytest.raises(MediaError, match="is damaged: it does not unpack to"):
        images(write_tar(tmp_path / "bad.tar", files))
    files["00/layer.tar"] = gzip.compress(LAYERS[0])[:-20]
    with pytest.raises(ExternalError, match="cannot be unpacked as gzip"):
        images(write_tar(tmp_path / "short.tar", files))


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("", "it is not JSON"),
        ("{}", "it is not a list"),
        ("[3]", "it names no Config"),
        ('[{"Config": "no.json", "Layers": []}]', "there is no file 'no.json'"),
        ('[{"Config": "../../etc/passwd", "Layers": []}]', "there is no file"),
        ('[{"Config": "/etc/passwd", "Layers": []}]', "there is no file"),
        ('[{"Config": "text", "Layers": []}]', "it is not the configuration of an image"),
        ('[{"Config": "config", "Layers": []}]', "it has 0 layers, and its configuration tells of 1"),
        ('[{"Config": "config", "Layers": 3}]', "a list of texts"),
        ('[{"Config": "config", "Layers": ["text"], "RepoTags": [1]}]', "a list of texts"),
    ],
)
def test_bad_tables_of_docker(tmp_path: Path, table: str, why: str) -> None:
    config = json.dumps({"rootfs": {"diff_ids": [digest_of(b"text")]}}).encode()
    files = {"manifest.json": table.encode(), "text": b"text", "config": config}
    with pytest.raises(MediaError) as caught:
        images(write_tar(tmp_path / "saved.tar", files))
    assert why in caught.value.message


@pytest.mark.parametrize(
    ("short", "name"),
    [
        ("web:v1", "docker.io/library/web:v1"),
        ("me/web:v1", "docker.io/me/web:v1"),
        ("r.example.com/web:v1", "r.example.com/web:v1"),
        ("localhost/web:v1", "localhost/web:v1"),
        ("host:5000/a/b:v1", "host:5000/a/b:v1"),
    ],
)
def test_short_names_of_docker(short: str, name: str) -> None:
    assert full_name(short) == name


def test_the_storage_of_a_registry(store: Store, tmp_path: Path) -> None:
    found = store.contents().images
    index = put_index(
        store, [put_image(store, [noise(5)]), put_image(store, [noise(6)])], "r.example.com/m:1"
    )
    parts = [image.digest for image in index.manifests]
    root = registry_storage(
        store,
        tmp_path / "registry",
        {"app/web:v1": found[NAME].digest, "multi:1": index.digest},
        {"multi": parts[0], "index/_odd": parts[0], "app/db": found[OTHER].digest},
    )
    (root / "docker/registry/v2/repositories/multi/_manifests/revisions/readme").write_text("x")
    names = [f"r.example.com/app/db@{found[OTHER].digest}", "r.example.com/app/web:v1"]
    names += [f"r.example.com/index/_odd@{parts[0]}", "r.example.com/multi:1"]
    paths = [root, root / "docker/registry/v2", pack_folder(root, tmp_path / "mirror_000001.tar")]

    for path in paths:
        assert [each.name for each in images(path, "r.example.com")] == names


def test_a_damaged_link_of_a_registry(store: Store, tmp_path: Path) -> None:
    root = registry_storage(store, tmp_path / "r", {"app/web:v1": store.contents().images[NAME].digest}, {})
    link = root / "docker/registry/v2/repositories/app/web/_manifests/tags/v1/current/link"
    link.write_text("sha256:0")
    with pytest.raises(UserError, match="does not hold a digest"):
        images(root)


def test_what_holds_no_images(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no"):
        images(tmp_path / "nothing.tar")
    with pytest.raises(UserError, match="holds no images"):
        images(tmp_path)
    with pytest.raises(UserError, match="holds no images"):
        images(write_tar(tmp_path / "a.tar", {"readme": b"x"}))
    (tmp_path / "text").write_text("no archive" * 100)
    with pytest.raises(MediaError, match="is not a tar archive"):
        images(tmp_path / "text")


@pytest.mark.parametrize("text", ["", "[]", '{"imageLayoutVersion": "2.0.0"}'])
def test_layouts_that_cannot_be_read(store: Store, text: str) -> None:
    (store.root / "oci-layout").write_text(text)
    with pytest.raises(MusterError, match="oci-layout"):
        images(store.root)
    (store.root / "index.json").unlink()
    with pytest.raises(MediaError, match=r"there is no index\.json"):
        images(store.root)


def test_links_that_lead_out_of_a_folder(store: Store, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(noise(2))
    path = store.blobs.path(digest_of(noise(2)))
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    with open_source(store.root, tmp_path) as source, pytest.raises(MediaError, match="leads out of"):
        source.find(digest_of(noise(2)))
    path.unlink()
    inside = store.root / "blobs/elsewhere"
    inside.write_bytes(noise(2))
    path.symlink_to("../elsewhere")
    with open_source(store.root, tmp_path) as source:
        assert source.find(digest_of(noise(2))) is not None


def test_pipes_and_folders_are_no_blobs(store: Store, tmp_path: Path) -> None:
    path = store.blobs.path(digest_of(noise(2)))
    path.unlink()
    os.mkfifo(path)
    with open_source(store.root, tmp_path) as source:
        assert source.find(digest_of(noise(2))) is None
        path.unlink()
        path.mkdir()
        assert source.find(digest_of(noise(2))) is None


def test_an_archive_that_unpacks_to_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "_BOMB_BYTES", 1 << 20)
    bomb = tmp_path / "bomb.tar.gz"
    bomb.write_bytes(gzip.compress(bytes(8 << 20)))
    with pytest.raises(MediaError, match="unpacks to more than 200 times its size"):
        images(bomb)
    assert [path.name for path in tmp_path.iterdir()] == ["bomb.tar.gz"]
