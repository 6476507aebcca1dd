# SPDX-License-Identifier: Apache-2.0
"""Images are copied whole or not named, and whatever came before trouble is not fetched again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster.errors import ExternalError, MediaError, MusterError, UserError
from muster.progress import Advance
from muster.release.at_registry import Neighbours, RegistrySource, RegistryTarget
from muster.release.copying import How, copy_image, pull, push
from muster.release.in_store import StoreSource, StoreTarget
from muster.release.oci.client import Settings, open_client
from muster.release.oci.digest import digest_of, hex_of
from muster.release.oci.manifest import Descriptor, Manifest, Platform, render_index, render_manifest
from muster.release.oci.reference import parse_reference
from muster.release.store.store import Store, create_store
from tests.component.release.meeting import LIMITS, Meeting, patience_of, play
from tests.component.release.rough_registry import RoughRegistry, start_registry

MIB = 1 << 20
LAYERS = [
    random.Random(number).randbytes(size) for number, size in enumerate((3 * MIB, 5 * MIB + 7, 1, 900_000))
]


class Bar:
    """A progress bar that remembers."""

    def __init__(self) -> None:
        self.total: int | None = None
        self.done = 0
        self.calls: list[int] = []

    @contextmanager
    def bar(
        self, label: str, *, total: int | None = None, unit: str = "B", done: int = 0
    ) -> Iterator[Advance]:
        self.total = total
        yield self.advance

    def advance(self, count: int) -> None:
        assert count >= 0
        self.done += count


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return create_store(tmp_path / "store")


def add_both(registry: RoughRegistry) -> tuple[Manifest, Manifest, Manifest]:
    one = registry.add_image("a/b", "", LAYERS, "amd64")
    other = registry.add_image("a/b", "", [LAYERS[0], b"arm"], "arm64")
    return registry.add_index("a/b", "v1", {"amd64": one, "arm64": other}), one, other


def assert_whole(store: Store, root: Descriptor) -> None:
    for part in store.walk(root):
        assert digest_of(store.blobs.path(part.digest).read_bytes()) == part.digest
    assert not [*(store.root / "partial").iterdir()]


def test_an_index_with_all_its_images(store: Store) -> None:
    async def scene(at: Meeting) -> None:
        index, one, _ = add_both(at.registry)
        bar = Bar()
        reference = at.registry.reference("a/b", "v1")
        copied = await pull(at.client, reference, store, How(progress=bar))
        assert copied.image == index.descriptor
        assert store.contents().images == {str(reference): index.descriptor}
        assert_whole(store, index.descriptor)
        sizes = {blob.digest: blob.size_bytes for blob in (*one.blobs, *_.blobs)}
        assert bar.done == bar.total == sum(sizes.values()) == sum(at.registry.served.values())
        at.registry.forget()
        again = await pull(at.client, reference, store)
        assert (again.blobs, again.size_bytes) == (0, 0)
        assert at.registry.paths() == ["/v2/a/b/manifests/v1"]
        at.registry.forget()
        await pull(at.client, at.registry.reference("a/b", digest=index.digest), store)
        assert at.registry.asked == [], "what has a digest and is here needs no registry"

    play(scene)


def test_one_architecture_of_several(store: Store) -> None:
    async def scene(at: Meeting) -> None:
        index, _, other = add_both(at.registry)
        reference = at.registry.reference("a/b", digest=index.digest)
        await pull(at.client, reference, store, How(architecture="arm64"))
        name = f"{reference.name}@{other.digest}"
        assert store.contents().images == {name: other.descriptor}
        assert not at.registry.served.keys() - {blob.digest for blob in other.blobs}
        with pytest.raises(UserError, match="no image for linux/s390x"):
            await pull(at.client, reference, store, How(architecture="s390x"))

    play(scene)


def test_images_that_share_a_layer_at_once(store: Store) -> None:
    async def scene(at: Meeting) -> None:
        for name in ("a", "b", "c"):
            at.registry.add_image(name, "v1", [LAYERS[1], name.encode()])
        how = How()
        await asyncio.gather(
            *(pull(at.client, at.registry.reference(name, "v1"), store, how) for name in ("a", "b", "c"))
        )
        assert at.registry.served[digest_of(LAYERS[1])] == len(LAYERS[1]), "it came once"
        assert len(store.contents().images) == 3

    play(scene)


def test_a_break_is_gone_on_from_by_the_next_run(store: Store) -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", LAYERS)
        blob = manifest.layers[1]
        at.registry.faults.cuts[blob.digest] = [2 * MIB + 5, 0, 0, 0]
        reference = at.registry.reference("a", "v1")
        with pytest.raises(
            ExternalError, match=rf"{reference}: the blob {blob.digest} of .* broke"
        ) as caught:
            await pull(at.client, reference, store)
        assert "gave up after 3 tries" in caught.value.message
        assert not store.contents().images
        assert (store.root / "partial" / hex_of(blob.digest)).stat().st_size == 2 * MIB + 5
        at.registry.faults.cuts.clear()
        before = at.registry.served[blob.digest]
        await pull(at.client, reference, store)
        assert at.registry.served[blob.digest] - before == blob.size_bytes - 2 * MIB - 5
        assert_whole(store, manifest.descriptor)

    play(scene)


@pytest.mark.parametrize("seed", range(6))
def test_an_interrupt_at_any_moment(store: Store, seed: int) -> None:
    """The second run fetches the bytes that are missing, and no others."""

    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", LAYERS)
        # A moment is told by how much was served, not by a clock.
        at.registry.alarm_at = random.Random(seed).randrange(sum(map(len, LAYERS)))
        task = asyncio.create_task(pull(at.client, at.registry.reference("a", "v1"), store))
        await at.registry.alarm.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        here = {}
        for blob in manifest.blobs:
            part = store.root / "partial" / hex_of(blob.digest)
            here[blob.digest] = store.blobs.size(blob.digest) or (part.stat().st_size if part.exists() else 0)
        at.registry.forget()
        await pull(at.client, at.registry.reference("a", "v1"), store)
        assert_whole(store, manifest.descriptor)
        for blob in manifest.blobs:
            assert at.registry.served[blob.digest] == blob.size_bytes - here[blob.digest]

    play(scene)


def spoil_digest(registry: RoughRegistry, blob: Descriptor) -> None:
    registry.faults.instead[blob.digest] = bytes(blob.size_bytes)


def spoil_size(registry: RoughRegistry, blob: Descriptor) -> None:
    registry.faults.instead[blob.digest] = bytes(blob.size_bytes - 1)


def spoil_end(registry: RoughRegistry, blob: Descriptor) -> None:
    registry.faults.endless = {blob.digest}


def spoil_all(registry: RoughRegistry, blob: Descriptor) -> None:
    del registry.blobs[blob.digest]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (spoil_digest, "is not what it should be: its content has the digest"),
        (spoil_size, "is not what its manifest says"),
        (spoil_end, "is not what its manifest says: 5242887 bytes; more are sent"),
        (spoil_all, "is not there"),
    ],
)
def test_a_bad_blob_is_named_and_not_kept(
    store: Store, spoil: Callable[[RoughRegistry, Descriptor], None], why: str
) -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", LAYERS)
        blob = manifest.layers[1]
        spoil(at.registry, blob)
        with pytest.raises(ExternalError, match=rf"^{at.registry.host}/a:v1: .*{blob.digest}.*{why}"):
            await pull(at.client, at.registry.reference("a", "v1"), store)
        assert not store.contents().images
        assert store.blobs.size(blob.digest) is None
        at.registry.faults.instead.clear()
        at.registry.faults.endless.clear()
        at.registry.add_blob(LAYERS[1])
        await pull(at.client, at.registry.reference("a", "v1"), store)
        assert_whole(store, manifest.descriptor)

    play(scene)


def test_what_an_earlier_run_left_is_bad(store: Store) -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", LAYERS)
        part = store.root / "partial" / hex_of(manifest.layers[1].digest)
        part.parent.mkdir()
        part.write_bytes(b"something else")
        await pull(at.client, at.registry.reference("a", "v1"), store)
        assert_whole(store, manifest.descriptor)

    play(scene)


def test_an_index_that_lies(store: Store) -> None:
    async def scene(at: Meeting) -> None:
        one = at.registry.add_image("a", "", [b"1"], "amd64").descriptor
        lie = Descriptor(one.media_type, one.digest, one.size_bytes + 1, Platform("amd64"))
        at.registry.add_manifest("a", "v1", render_index([lie]))
        for architecture in ("", "amd64"):
            with pytest.raises(
                MusterError, match=rf"a:v1: its index says that the manifest {one.digest} has"
            ):
                await pull(at.client, at.registry.reference("a", "v1"), store, How(architecture=architecture))

    play(scene)


def test_indexes_of_indexes_have_an_end(store: Store) -> None:
    async def scene(at: Meeting) -> None:
        found = at.registry.add_image("a", "", [b"1"], "amd64")
        for _ in range(7):
            found = at.registry.add_manifest("a", "v1", render_index([found.descriptor]))
        with pytest.raises(UserError, match="index of too many images, or of indexes of indexes"):
            await pull(at.client, at.registry.reference("a", "v1"), store)

    play(scene)


def test_a_manifest_that_says_another_size_than_the_store(store: Store) -> None:
    async def scene(at: Meeting) -> None:
        manifest = at.registry.add_image("a", "v1", [LAYERS[0]])
        await pull(at.client, at.registry.reference("a", "v1"), store)
        assert manifest.config is not None
        layer = manifest.layers[0]
        lie = render_manifest(
            manifest.config, [Descriptor(layer.media_type, layer.digest, layer.size_bytes + 1)]
        )
        at.registry.add_manifest("a", "v2", lie)
        with pytest.raises(MusterError, match=rf"{layer.digest}.*3145729"):
            await pull(at.client, at.registry.reference("a", "v2"), store)

    play(scene)


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
