# SPDX-License-Identifier: Apache-2.0
"""Releases in a store: found, read, checked and compared."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from muster.errors import MediaError, UserError
from muster.release.build.layers import Entry, write_layer
from muster.release.difference import Change, compare
from muster.release.look import (
    Found,
    add_ons_of,
    choose_release,
    closure,
    find_flaws,
    find_releases,
    load_release,
)
from muster.release.model import KIND_ANNOTATION
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import OCI_CONFIG, Descriptor, render_manifest
from muster.release.store.store import Store, create_store
from tests.releases import make_whole, put_whole

NAME = "registry.example.com/kubernetes/release:v1.2.3-amd64"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return create_store(tmp_path / "store")


@pytest.fixture
def found(store: Store, tmp_path: Path) -> Found:
    put_whole(store, *make_whole(_folder(tmp_path, "one"), "all"))
    return choose_release(store, "", "amd64")


def _folder(place: Path, name: str) -> Path:
    (place / name).mkdir()
    return place / name


def test_add_ons_of_a_release(store: Store, found: Found) -> None:
    assert add_ons_of(store, found.name) == ("gauge",)
    assert add_ons_of(store, f"{NAME}x") == ()


def test_a_release_is_found_among_its_images(store: Store, found: Found) -> None:
    assert [each.name for each in find_releases(store)] == [NAME]
    assert len(store.contents().images) == 3
    release = load_release(store, found)
    assert release.tagged == found.name == NAME
    assert {image.tagged for image in release.images} < store.contents().images.keys()


@pytest.mark.parametrize("wanted", ["", NAME, "v1.2.3-amd64", "v1.2.3"])
def test_what_a_release_may_be_called(store: Store, found: Found, wanted: str) -> None:
    assert choose_release(store, wanted, "amd64") == found
    assert choose_release(store, found.image.digest, "amd64") == found


def test_a_release_that_is_not_there(store: Store, found: Found) -> None:
    with pytest.raises(UserError, match=r"no release 'v9'") as caught:
        choose_release(store, "v9", "amd64")
    assert NAME in caught.value.hint


def test_a_store_without_releases(store: Store) -> None:
    with pytest.raises(UserError, match="there is no release in"):
        choose_release(store, "", "amd64")


def test_of_several_the_one_for_this_machine_is_meant(store: Store, found: Found) -> None:
    store.name({"registry.example.com/kubernetes/release:v1.2.3-arm64": found.image})
    assert choose_release(store, "v1.2.3", "arm64").name.endswith("-arm64")
    with pytest.raises(UserError, match="several releases"):
        choose_release(store, "", "s390x")


def test_all_of_a_release_is_reached(store: Store, found: Found) -> None:
    release = load_release(store, found)
    there = {path.name for path in (store.root / "blobs/sha256").iterdir()}
    assert {part.digest.removeprefix("sha256:") for _, part in closure(store, release, found)} == there


def test_a_release_that_is_whole_has_no_flaws(store: Store, found: Found) -> None:
    told: list[int] = []
    assert find_flaws(store, load_release(store, found), found, full=True, advance=told.append) == []
    assert sum(told) > 0


def test_flaws_are_told_with_who_needs_it(store: Store, found: Found) -> None:
    release = load_release(store, found)
    shared = store.manifest(release.image("tool").image.digest).layers[0]
    path = store.blobs.path(shared.digest)
    data = path.read_bytes()
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    assert find_flaws(store, release, found, full=False) == []
    (flaw,) = find_flaws(store, release, found, full=True)
    assert "is damaged" in flaw.what
    assert flaw.needed_by == tuple(image.tagged for image in release.images)
    path.write_bytes(data[1:])
    (flaw,) = find_flaws(store, release, found, full=False)
    assert f"has {len(data) - 1} bytes instead of {len(data)}" in flaw.what
    path.unlink()
    (flaw,) = find_flaws(store, release, found, full=False)
    assert "is not there" in flaw.what


def test_a_manifest_that_is_gone(store: Store, found: Found) -> None:
    release = load_release(store, found)
    image = release.image("gauge")
    store.blobs.path(image.image.digest).unlink()
    flaws = find_flaws(store, release, found, full=False)
    assert (image.image.digest, (image.tagged,)) in [(flaw.digest, flaw.needed_by) for flaw in flaws]


@pytest.mark.parametrize("content", [None, b"not zstd", b"{}"])
def test_an_image_that_is_none_of_a_release(store: Store, content: bytes | None) -> None:
    packed = io.BytesIO()
    write_layer([Entry("other.json" if content is None else "release.json", content or b"{}")], packed)
    layer = content if content == b"not zstd" else packed.getvalue()
    config = store.blobs.put(b"{}")
    digest = store.blobs.put(layer)
    blob = Descriptor("application/vnd.oci.image.layer.v1.tar+zstd", digest, len(layer))
    manifest = render_manifest(Descriptor(OCI_CONFIG, config, 2), [blob], {KIND_ANNOTATION: "kubernetes"})
    store.blobs.put(manifest.data)
    with pytest.raises(MediaError, match=r"no release.json that can be read|schema is missing"):
        load_release(store, Found("x", manifest.descriptor))


def test_two_releases_are_compared(tmp_path: Path) -> None:
    before = make_whole(_folder(tmp_path, "one"), "all")[0].release
    after = make_whole(_folder(tmp_path, "two"), content=b"another")[0].release
    old, new = Digest("sha256:1"), Digest("sha256:2")
    found = compare(before, after, [old], {old: 5, new: 7})
    assert found.components == (
        Change("gauge", "v0.1.0", ""),
        Change("toolbox", "v1.2.3", "v1.2.3", is_rebuilt=True),
    )
    assert found.add_ons == (Change("gauge", "v0.1.0", ""),)
    assert [change.id for change in found.images] == ["gauge", "tool"]
    assert (found.new_bytes, found.total_bytes) == (7, 12)
    same = compare(before, before, [old], {old: 5})
    assert (same.components, same.add_ons, same.images, same.new_bytes) == ((), (), (), 0)
