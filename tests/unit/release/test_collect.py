# SPDX-License-Identifier: Apache-2.0
"""What nobody needs goes, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.errors import MediaError, UserError
from muster.release.oci.digest import digest_of
from muster.release.store.collect import collect_garbage
from muster.release.store.store import Store
from muster.release.store.verify import verify_store
from tests.stores import NAME, OTHER, make_store, noise, put_image, put_index, take_in


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_store(tmp_path / "store")


def files(store: Store) -> dict[str, bytes]:
    return {
        str(path.relative_to(store.root)): path.read_bytes()
        for path in store.root.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_nothing_is_garbage_in_a_good_store(store: Store) -> None:
    put_index(store, [put_image(store, [noise(5)]), put_image(store, [noise(6)])], "r.example.com/multi:1")
    assert collect_garbage(store).freed_bytes == 0
    assert verify_store(store, full=True).is_good


def test_what_no_name_leads_to_goes(store: Store) -> None:
    take_in(store, noise(9))
    collected = collect_garbage(store)
    assert collected.blobs == ((digest_of(noise(9)), 20_000),)
    assert collected.freed_bytes == 20_000
    assert verify_store(store, full=True).unreachable == ()


def test_a_forgotten_image_goes_but_not_what_it_shares(store: Store) -> None:
    collected = collect_garbage(store, [NAME])
    assert collected.forgotten == (NAME,)
    gone = {digest for digest, _ in collected.blobs}
    assert digest_of(noise(2)) in gone
    assert digest_of(noise(1)) not in gone
    report = verify_store(store, full=True)
    assert report.is_good
    assert report.whole == (OTHER,)


def test_what_an_interrupted_transfer_left_goes(store: Store) -> None:
    with store.blobs.receive(digest_of(noise(9)), 20_000) as incoming:
        incoming.write(noise(9)[:1000])
    assert collect_garbage(store, dry_run=True).partial_bytes >= 1000
    assert collect_garbage(store).partial_bytes >= 1000
    assert not store.blobs.partial()


def test_a_dry_run_changes_nothing(store: Store) -> None:
    take_in(store, noise(9))
    (store.root / ".lock").unlink(missing_ok=True)
    before = files(store)
    collected = collect_garbage(store, [OTHER], dry_run=True)
    assert {digest_of(noise(9)), digest_of(noise(3))} <= {digest for digest, _ in collected.blobs}
    assert files(store) == before
    assert not (store.root / ".lock").exists()


def test_nothing_goes_when_a_manifest_cannot_be_read(store: Store) -> None:
    take_in(store, noise(9))
    manifest = store.blobs.path(store.contents().images[NAME].digest)
    manifest.write_bytes(b"damaged")
    before = files(store)
    with pytest.raises(MediaError, match=f"nothing was removed, because what {NAME} needs is not known"):
        collect_garbage(store)
    assert files(store) == before
    collected = collect_garbage(store, [NAME])
    assert digest_of(noise(9)) in {digest for digest, _ in collected.blobs}
    assert verify_store(store, full=True).is_good


def test_a_name_that_is_not_there(store: Store) -> None:
    with pytest.raises(UserError, match="there is no image") as caught:
        collect_garbage(store, ["registry.example.com/app/wbe:v1"])
    assert caught.value.hint == f"did you mean {NAME}?"
