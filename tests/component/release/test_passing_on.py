# SPDX-License-Identifier: Apache-2.0
"""Images that are here are passed on: to registries, between them, to other stores."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from muster.errors import ExternalError, MediaError
from muster.release.at_registry import Neighbours, RegistrySource, RegistryTarget
from muster.release.copying import How, copy_image, pull, push
from muster.release.in_store import StoreSource, StoreTarget
from muster.release.oci.client import Settings, open_client
from muster.release.oci.digest import digest_of
from muster.release.oci.reference import parse_reference
from muster.release.store.store import Store, create_store
from tests.component.release.copies import LAYERS, MIB, Bar, add_both, assert_whole
from tests.component.release.meeting import LIMITS, Meeting, patience_of, play
from tests.component.release.rough_registry import start_registry


def test_to_a_registry_and_from_there(store: Store, tmp_path: Path) -> None:
    async def scene(at: Meeting) -> None:
        index, _, _ = add_both(at.registry)
        await pull(at.client, at.registry.reference("a/b", "v1"), store)
        at.registry.lose()
        at.registry.faults.login = "bearer"
        bar = Bar()
        copied = await push(
            at.client, store, index.descriptor, at.registry.reference("c", "v2"), How(progress=bar)
        )
        assert copied.size_bytes == bar.done == bar.total == sum(at.registry.pushed.values())
        other = create_store(tmp_path / "other")
        await pull(at.client, at.registry.reference("c", "v2"), other)
        assert_whole(other, index.descriptor)
        at.registry.forget()
        await push(at.client, store, index.descriptor, at.registry.reference("c", "v2"))
        assert not at.registry.pushed
        assert at.registry.paths("HEAD") == []

    play(scene)


def test_between_repositories_blobs_are_mounted() -> None:
    async def scene(at: Meeting) -> None:
        at.registry.faults.login = "bearer"
        manifest = at.registry.add_image("a", "v1", LAYERS)
        source = RegistrySource(at.client, at.registry.reference("a", "v1"))
        bar = Bar()
        target = RegistryTarget(at.client, at.registry.reference("b", "v1"))
        await copy_image(source, target, How(progress=bar))
        assert bar.done == bar.total
        assert not at.registry.pushed
        assert not at.registry.served
        assert at.registry.manifests["b", "v1"] == (manifest.media_type, manifest.data)
        assert any("scope=repository%3Aa%3Apull" in path for path in at.registry.paths())
        at.registry.faults.refuses_mounts = True
        target = RegistryTarget(at.client, at.registry.reference("c", "v1"))
        await copy_image(source, target)
        assert sum(at.registry.pushed.values()) == sum(at.registry.served.values()) == bar.total

    play(scene)


def test_from_registry_to_registry_nothing_touches_the_disk() -> None:
    async def scene(at: Meeting) -> None:
        async with start_registry() as there:
            index, _, _ = add_both(at.registry)
            large = digest_of(LAYERS[1])
            at.registry.faults.cuts[large] = [MIB, 2 * MIB]
            there.faults.only, there.faults.statuses = "digest=", [503]
            settings = Settings(
                insecure=frozenset({at.registry.host, there.host}), limits=LIMITS, patience=patience_of([])
            )
            bar = Bar()
            async with open_client(settings) as client:
                source = RegistrySource(client, at.registry.reference("a/b", "v1"))
                target = RegistryTarget(client, there.reference("mirror/b", "v1"))
                copied = await copy_image(source, target, How(progress=bar))
                again = await copy_image(source, RegistryTarget(client, there.reference("mirror/b", "v1")))
            assert copied.image == index.descriptor
            assert bar.done == bar.total == copied.size_bytes == sum(there.pushed.values())
            assert there.blobs[large] == LAYERS[1]
            assert there.manifests["mirror/b", "v1"] == (index.media_type, index.data)
            assert again.blobs == 0

    play(scene)


def test_trouble_on_the_way_to_a_registry(store: Store) -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", LAYERS)
        await pull(at.client, at.registry.reference("a", "v1"), store)
        at.registry.lose()
        at.registry.faults.only = "digest="
        at.registry.faults.statuses = [500, 503, 429]
        bar = Bar()
        await push(at.client, store, manifest.descriptor, at.registry.reference("b", "v1"), How(progress=bar))
        assert bar.done == bar.total, "what is sent twice counts once"
        at.registry.lose()
        at.registry.faults.statuses = [413]
        with pytest.raises(ExternalError, match=r"the blob sha256:.* for .*/c: the registry answered 413"):
            await push(at.client, store, manifest.descriptor, at.registry.reference("c", "v1"))

    play(scene)


def test_a_damaged_store_is_not_passed_on(store: Store) -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", LAYERS)
        await pull(at.client, at.registry.reference("a", "v1"), store)
        at.registry.lose()
        path = store.blobs.path(manifest.layers[1].digest)
        path.write_bytes(bytes(manifest.layers[1].size_bytes))
        with pytest.raises(ExternalError, match=rf"{path} is damaged"):
            await push(at.client, store, manifest.descriptor, at.registry.reference("b", "v1"))
        assert manifest.layers[1].digest not in at.registry.blobs
        assert ("b", "v1") not in at.registry.manifests

    play(scene)


def test_from_store_to_store(store: Store, tmp_path: Path) -> None:
    async def scene(at: Meeting) -> None:
        index, _, other = add_both(at.registry)
        await pull(at.client, at.registry.reference("a/b", "v1"), store)
        fresh = create_store(tmp_path / "fresh")
        name = parse_reference("registry.example.com/x:1")
        await copy_image(
            StoreSource(store, index.descriptor), StoreTarget(fresh, name), How(architecture="arm64")
        )
        assert fresh.contents().images == {str(name): other.descriptor}
        assert_whole(fresh, other.descriptor)
        path = store.blobs.path(other.layers[1].digest)
        path.unlink()
        fresh = create_store(tmp_path / "fresher")
        with pytest.raises((MediaError, ExternalError), match=rf"{other.layers[1].digest} is not in"):
            await copy_image(StoreSource(store, index.descriptor), StoreTarget(fresh, name))

    play(scene)


def test_a_layer_of_two_images_is_sent_once(store: Store) -> None:
    async def scene(at: Meeting) -> None:
        images = {name: at.registry.add_image(name, "v1", [LAYERS[1], name.encode()]) for name in ("a", "b")}
        for name in images:
            await pull(at.client, at.registry.reference(name, "v1"), store)
        at.registry.lose()
        neighbours, how = Neighbours(), How()
        await asyncio.gather(
            *(
                copy_image(
                    StoreSource(store, image.descriptor, name),
                    RegistryTarget(at.client, at.registry.reference(f"copy/{name}", "v1"), neighbours),
                    how,
                )
                for name, image in images.items()
            )
        )
        assert at.registry.pushed[digest_of(LAYERS[1])] == len(LAYERS[1])
        for name, image in images.items():
            assert at.registry.manifests[f"copy/{name}", "v1"] == (image.media_type, image.data)

    play(scene)
