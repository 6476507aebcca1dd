# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a store is found, and who is hit by it."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from muster.errors import Interrupted
from muster.progress import Advance
from muster.release.oci.digest import digest_of
from muster.release.oci.manifest import OCI_LAYER, Descriptor, render_manifest
from muster.release.store.flaws import Flaw
from muster.release.store.store import Store
from muster.release.store.verify import Fault, remove_damaged, verify_store
from tests.stores import NAME, OTHER, layer_path, make_store, noise, put_image, put_index, take_in


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_store(tmp_path / "store")


def only_fault(store: Store, *, full: bool = False) -> Fault:
    report = verify_store(store, full=full)
    assert not report.is_good
    (fault,) = report.faults
    return fault


def test_a_good_store(store: Store) -> None:
    put_index(store, [put_image(store, [noise(1)]), put_image(store, [noise(4)])], "r.example.com/multi:1")
    quick, full = verify_store(store), verify_store(store, full=True)
    assert quick.is_good
    assert full.is_good
    assert full.whole == tuple(sorted([NAME, OTHER, "r.example.com/multi:1"]))
    assert quick.read_bytes == 0
    assert full.read_bytes == full.needed_bytes == quick.needed_bytes


def test_a_missing_blob(store: Store) -> None:
    layer_path(store, 2).unlink()
    fault = only_fault(store)
    assert (fault.flaw, fault.images) == (Flaw.MISSING, (NAME,))
    report = verify_store(store)
    assert (report.whole, report.broken) == ((OTHER,), (NAME,))


def test_a_truncated_blob(store: Store) -> None:
    os.truncate(layer_path(store, 1), 100)
    for full in (False, True):
        fault = only_fault(store, full=full)
        assert (fault.flaw, fault.images) == (Flaw.SIZE, (OTHER, NAME))
        assert "has 100 bytes, and should have 20000" in fault.detail


def test_a_changed_byte_is_found_by_reading_all(store: Store) -> None:
    layer_path(store, 3).write_bytes(b"x" * 20_000)
    assert verify_store(store).is_good
    fault = only_fault(store, full=True)
    assert (fault.flaw, fault.images) == (Flaw.CONTENT, (OTHER,))


def test_a_changed_manifest_is_found_at_once(store: Store) -> None:
    path = store.blobs.path(store.contents().images[NAME].digest)
    path.write_bytes(path.read_bytes().replace(b"layers", b"Layers"))
    fault = only_fault(store)
    assert (fault.flaw, fault.images) == (Flaw.CONTENT, (NAME,))


def test_what_is_no_manifest(store: Store) -> None:
    digest = store.blobs.put(b"{}")
    store.name({"r.example.com/bad:1": Descriptor(OCI_LAYER, digest, 2)})
    fault = only_fault(store)
    assert (fault.flaw, fault.images) == (Flaw.MANIFEST, ("r.example.com/bad:1",))


def test_a_manifest_that_lies_about_a_size_hits_itself_alone(store: Store) -> None:
    config = store.blobs.put(b"{}")
    lie = Descriptor(OCI_LAYER, digest_of(noise(1)), 7)
    manifest = render_manifest(Descriptor(OCI_LAYER, config, 2), [lie])
    store.blobs.put(manifest.data)
    store.name({"r.example.com/liar:1": manifest.descriptor})
    for full in (False, True):
        fault = only_fault(store, full=full)
        assert (fault.flaw, fault.images) == (Flaw.SIZE, ("r.example.com/liar:1",))


def test_leftovers_are_told_and_do_no_harm(store: Store) -> None:
    take_in(store, b"nobody's")
    report = verify_store(store, full=True)
    assert report.is_good
    assert report.unreachable == ((digest_of(b"nobody's"), 8),)


def test_a_damaged_leftover_is_found(store: Store) -> None:
    """Somebody could need it tomorrow, and believe that it is here."""
    take_in(store, b"nobody's")
    store.blobs.path(digest_of(b"nobody's")).write_bytes(b"damaged!")
    fault = only_fault(store, full=True)
    assert (fault.flaw, fault.images) == (Flaw.CONTENT, ())


@pytest.mark.parametrize("text", ["", "[]", '{"schemaVersion": 2}'])
def test_a_damaged_index(store: Store, text: str) -> None:
    (store.root / "index.json").write_text(text)
    report = verify_store(store, full=True)
    assert "index.json is damaged" in report.index
    assert not report.is_good
    assert not report.faults


def test_a_medium_that_cannot_be_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = layer_path(store, 1)
    real = os.readv

    def read(descriptor: int, buffers: tuple[bytearray, ...]) -> int:
        if os.path.samestat(os.fstat(descriptor), bad.stat()):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor, buffers)

    monkeypatch.setattr(os, "readv", read)
    fault = only_fault(store, full=True)
    assert (fault.flaw, fault.images) == (Flaw.UNREADABLE, (OTHER, NAME))
    assert "input/output error" in fault.detail


def test_damaged_blobs_are_removed_and_come_again(store: Store) -> None:
    layer_path(store, 3).write_bytes(b"x" * 20_000)
    report = verify_store(store, full=True)
    assert remove_damaged(store, report) == (digest_of(noise(3)),)
    assert only_fault(store).flaw is Flaw.MISSING
    take_in(store, noise(3))
    assert verify_store(store, full=True).is_good


def test_an_interruption_ends_all_threads(store: Store) -> None:
    class Impatient:
        def bar(self, label: str, **_how: object) -> Impatient:
            return self

        def __enter__(self) -> Advance:
            return self.advance

        def __exit__(self, *_what: object) -> None:
            pass

        def advance(self, count: int) -> None:
            raise Interrupted

    with pytest.raises(Interrupted):
        verify_store(store, full=True, progress=Impatient())


def test_the_index_may_be_of_another_tool(store: Store) -> None:
    index = json.loads((store.root / "index.json").read_bytes())
    for entry in index["manifests"]:
        del entry["annotations"]
    (store.root / "index.json").write_text(json.dumps(index, indent=4))
    layer_path(store, 2).unlink()
    image = put_image(store, [noise(1), noise(3)])
    report = verify_store(store)
    assert report.whole == (image.digest,)
    assert len(report.broken) == 1
