# SPDX-License-Identifier: Apache-2.0
"""Images are copied whole or not named, and whatever came before trouble is not fetched again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

from muster.errors import ExternalError, MusterError, UserError
from muster.release.copying import How, pull
from muster.release.oci.digest import digest_of, hex_of
from muster.release.oci.manifest import Descriptor, Platform, render_index, render_manifest
from muster.release.store.store import Store
from tests.component.release.copies import LAYERS, MIB, Bar, add_both, assert_whole
from tests.component.release.meeting import Meeting, play
from tests.component.release.rough_registry import RoughRegistry


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
