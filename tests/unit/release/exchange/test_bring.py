# SPDX-License-Identifier: Apache-2.0
"""Images come in whole, once, and as they were sent; what is wrong with one does not hurt the others."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from muster.errors import ExternalError, Interrupted
from muster.progress import SILENT, Advance
from muster.release.oci.digest import digest_of, hex_of
from muster.release.oci.manifest import OCI_CONFIG, OCI_LAYER, Descriptor, render_manifest
from muster.release.store.exchange.bring import Brought, bring_images
from muster.release.store.exchange.names import settle_names
from muster.release.store.exchange.opening import open_source
from muster.release.store.exchange.source import narrow
from muster.release.store.store import Store, create_store
from muster.release.store.verify import verify_store
from tests.stores import NAME, OTHER, layer_path, make_store, noise, put_image, put_index
from tests.unit.release.exchange.sources import docker_files, pack_folder, registry_storage, write_tar


@pytest.fixture
def origin(tmp_path: Path) -> Store:
    return make_store(tmp_path / "origin")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return create_store(tmp_path / "store")


def bring(store: Store, path: Path) -> Brought:
    with open_source(path, store.root) as source:
        return bring_images(store, source, settle_names(source.images()))


def assert_whole(store: Store, *names: str) -> None:
    report = verify_store(store, full=True)
    assert report.is_good
    assert report.whole == tuple(sorted(names))


def test_a_store_is_copied_with_its_very_bytes(origin: Store, store: Store) -> None:
    put_index(origin, [put_image(origin, [noise(5)]), put_image(origin, [noise(6)])], "r.example.com/multi:1")
    brought = bring(store, origin.root)
    assert brought.images == tuple(sorted([NAME, OTHER, "r.example.com/multi:1"]))
    assert_whole(store, *brought.images)
    assert store.blobs.everything() == origin.blobs.everything()
    assert store.index() == origin.index()
    assert layer_path(store, 1).stat().st_nlink == 1, "no hard link to what others may change"


def test_only_what_is_missing_is_copied(origin: Store, store: Store) -> None:
    bring(store, origin.root)
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()}
    put_image(origin, [noise(1), noise(7)], "r.example.com/new:1")
    brought = bring(store, origin.root)
    assert (brought.new_blobs, brought.new_bytes) == (2, 20_000 + 225)
    assert brought.known_bytes > 60_000
    changed = {path.name for path, time in before.items() if path.stat().st_mtime_ns != time}
    assert changed <= {"index.json", ".lock", ".index.lock"}


def test_every_source_gives_the_same_store(origin: Store, tmp_path: Path) -> None:
    images = origin.contents().images
    tags = {name.partition("/")[2]: image.digest for name, image in images.items()}
    storage = registry_storage(origin, tmp_path / "registry", tags, {})
    sources = [
        pack_folder(origin.root, tmp_path / "o.tar"),
        storage,
        pack_folder(storage, tmp_path / "r.tar"),
    ]
    for number, path in enumerate(sources):
        store = create_store(tmp_path / f"store{number}")
        with open_source(path, tmp_path, "registry.example.com") as source:
            bring_images(store, source, settle_names(source.images()))
        assert store.index() == origin.index()
        assert store.blobs.everything() == origin.blobs.everything()


def test_an_archive_of_docker_save(store: Store, tmp_path: Path) -> None:
    layers = (noise(1), noise(2))
    bring(store, write_tar(tmp_path / "a.tar", docker_files(layers, ["r.example.com/web:1"])))
    bring(store, write_tar(tmp_path / "b.tar", docker_files(layers, ["r.example.com/gz:1"], packed=True)))
    assert_whole(store, "r.example.com/gz:1", "r.example.com/web:1")
    broken = docker_files(layers, ["r.example.com/broken:1"])
    broken["00/layer.tar"] = b"x" * 20_000
    brought = bring(create_store(tmp_path / "other"), write_tar(tmp_path / "c.tar", broken))
    assert brought.images == ()
    assert "its content has the digest" in brought.failed["r.example.com/broken:1"]


def test_what_the_store_has_need_not_come(origin: Store, store: Store, tmp_path: Path) -> None:
    """Archives of what is new since the last one leave out what went before."""
    bring(store, origin.root)
    new = put_image(origin, [noise(1), noise(7)], "r.example.com/new:1")
    layer_path(origin, 1).unlink()
    assert bring(store, origin.root).failed == {}
    assert_whole(store, NAME, OTHER, "r.example.com/new:1")
    empty = bring(create_store(tmp_path / "empty"), origin.root)
    assert empty.images == ()
    assert all("is not in it, nor in the store" in why for why in empty.failed.values())
    assert new.digest in {image.digest for image in store.contents().images.values()}


def test_a_damaged_image_does_not_keep_the_others_out(origin: Store, store: Store) -> None:
    layer_path(origin, 2).write_bytes(b"x" * 20_000)
    brought = bring(store, origin.root)
    assert brought.images == (OTHER,)
    assert "is not what it should be" in brought.failed[NAME]
    assert_whole_but(store, OTHER)


def assert_whole_but(store: Store, *names: str) -> None:
    report = verify_store(store, full=True)
    assert not report.faults
    assert report.whole == names


def test_a_damaged_manifest(origin: Store, store: Store) -> None:
    path = origin.blobs.path(origin.contents().images[NAME].digest)
    path.write_bytes(path.read_bytes().replace(b"layers", b"Layers"))
    brought = bring(store, origin.root)
    assert brought.images == (OTHER,)
    assert "is damaged" in brought.failed[NAME]


@pytest.mark.parametrize("said", [19_999, 20_001, 1 << 50])
def test_a_manifest_that_lies_about_sizes(origin: Store, store: Store, said: int) -> None:
    config = origin.blobs.put(b"{}")
    lie = Descriptor(OCI_LAYER, digest_of(noise(1)), said)
    manifest = render_manifest(Descriptor(OCI_CONFIG, config, 2), [lie])
    origin.blobs.put(manifest.data)
    origin.name({"r.example.com/liar:1": manifest.descriptor})
    brought = bring(store, origin.root)
    assert f"has 20000 bytes, and should have {said}" in brought.failed["r.example.com/liar:1"]
    assert_whole(store, NAME, OTHER)


def test_an_index_that_lies_about_sizes(origin: Store, store: Store) -> None:
    index = json.loads(origin.index())
    index["manifests"][0]["size"] += 1
    (origin.root / "index.json").write_text(json.dumps(index))
    assert len(bring(store, origin.root).failed) == 1


def test_a_manifest_that_is_far_too_large(origin: Store, store: Store) -> None:
    digest = hex_of(origin.contents().images[NAME].digest)
    os.truncate(origin.root / "blobs/sha256" / digest, 5 << 20)
    assert "more than 4194304 are not read" in bring(store, origin.root).failed[NAME]


def test_a_name_that_no_store_takes(origin: Store, store: Store, tmp_path: Path) -> None:
    tags = {
        "Upper/Case:v1": origin.contents().images[NAME].digest,
        "good:v1": origin.contents().images[OTHER].digest,
    }
    brought = bring(store, registry_storage(origin, tmp_path / "registry", tags, {}))
    assert brought.images == ("localhost/good:v1",)
    assert "does not name an image" in brought.failed["localhost/Upper/Case:v1"]


def test_one_architecture_of_several(origin: Store, store: Store) -> None:
    """`docker save` writes an index of everything, and only what it has of that."""
    parts = [put_image(origin, [noise(5)]), put_image(origin, [noise(6)])]
    put_index(origin, parts, "r.example.com/multi:1")
    origin.blobs.path(parts[1].digest).unlink()
    assert list(bring(store, origin.root).failed) == ["r.example.com/multi:1"]
    with open_source(origin.root, store.root) as source:
        found = {name: narrow(source, each, "amd64") for name, each in settle_names(source.images()).items()}
        assert not bring_images(store, source, found).failed
    assert store.contents().images["r.example.com/multi:1"].digest == parts[0].digest


def test_what_is_interrupted_is_gone_on_with(origin: Store, store: Store) -> None:
    big = noise(8, 5 << 20)
    put_image(origin, [big], "r.example.com/big:1")

    class Impatient:
        """Ctrl-C after two megabytes."""

        done = 0

        def bar(self, label: str, **_how: object) -> Impatient:
            return self

        def __enter__(self) -> Advance:
            return self.advance

        def __exit__(self, *_what: object) -> None:
            pass

        def advance(self, count: int) -> None:
            self.done += count
            if self.done >= 2 << 20:
                raise Interrupted

    with open_source(origin.root, store.root) as source:
        wanted = settle_names(source.images())
        with pytest.raises(Interrupted):
            bring_images(store, source, wanted, Impatient())
        assert not store.contents().images
        with store.blobs.receive(digest_of(big), len(big)) as incoming:
            assert incoming.offset >= 1 << 20
        bring_images(store, source, wanted, SILENT)
    assert_whole(store, *wanted)
    assert not store.blobs.partial()


def test_what_does_not_fit_is_not_begun(origin: Store, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs(store.root)
    full = os.statvfs_result([*real[:4], 1, *real[5:]])
    monkeypatch.setattr(os, "statvfs", lambda _path: full)
    with pytest.raises(ExternalError, match=r"cannot write to .*: 59 KiB are missing, .* are free"):
        bring(store, origin.root)
    assert not store.blobs.everything()
