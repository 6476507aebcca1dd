# SPDX-License-Identifier: Apache-2.0
"""The live ISO comes out of a release: verified, once, and going on where it was interrupted."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from muster.errors import ExternalError, MediaError, MusterError, UserError
from muster.image.base_image import BaseImage
from muster.image.cache.memory import release_memory
from muster.image.cache.store import Cache
from muster.image.release_image import Wanted, fetch, find_kept
from muster.progress import SILENT
from muster.release.at_registry import RegistrySource
from muster.release.copying import pull
from muster.release.in_store import StoreSource
from muster.release.kinds.description import Description
from muster.release.kinds.known import kind_of
from muster.release.kinds.reading import describe
from muster.release.kinds.stored import choose_release, find_releases
from muster.release.mirror.sides import FromRegistry, FromStore, Origin
from muster.release.oci.client import Client, open_client
from muster.release.oci.digest import digest_of
from muster.release.oci.manifest import Descriptor
from muster.release.oci.reference import Reference
from muster.release.store.store import create_store
from tests import media
from tests.component.release.payload import (
    CONTENT,
    REGISTRY,
    RELEASE,
    VERSION,
    Made,
    Shape,
    add_index,
    make_release,
)
from tests.component.release.rough_registry import RoughRegistry, start_registry
from tests.component.release.test_mirror import settings_for

ISO = media.image(media.MODERN) + random.Random(3).randbytes(9 << 20)
"""A real one, with as much behind it as makes its layer worth keeping."""


@dataclass
class Scene:
    """A registry with a release, a client, and a cache."""

    registry: RoughRegistry
    client: Client
    cache: Cache

    def reference(self, made: Made, tag: str = "") -> Reference:
        return Reference(REGISTRY, RELEASE, tag, None if tag else made.image.digest)

    async def describe(self, reference: Reference, architecture: str = "amd64") -> Description:
        source = RegistrySource(self.client, reference)
        return await describe(source, reference, architecture, release_memory(self.cache))

    async def get(
        self, made: Made, architecture: str = "amd64", rpm: str = "x86_64", **more: str
    ) -> BaseImage:
        """What `agent create image` does."""
        release = await self.describe(self.reference(made, more.get("tag", "")), architecture)
        live = kind_of(release).live_image(release, more.get("stream", "rhel-9"), rpm)
        assert live is not None
        return await obtain_now(
            Wanted(live, architecture, release.version), FromRegistry(self.client), self.cache
        )


async def obtain_now(wanted: Wanted, origin: Origin, cache: Cache) -> BaseImage:
    """What is done in several steps, because waiting for others is none that a loop may do."""
    if find_kept(wanted, cache, SILENT) is None:
        await fetch(wanted, await origin.source(wanted.live.part.image), cache, SILENT)
    found = find_kept(wanted, cache, SILENT)
    assert found is not None
    return found


def play(tmp_path: Path, act: Callable[[Scene], Awaitable[None]]) -> None:
    async def go() -> None:
        with Cache(tmp_path / "cache") as cache:
            async with start_registry() as registry, open_client(settings_for(registry)) as client:
                await act(Scene(registry, client, cache))

    asyncio.run(go())


def layer_of(made: Made) -> Descriptor:
    return max(made.components["machine-os-images"].layers, key=lambda each: each.size_bytes)


def left_over(cache: Cache) -> list[str]:
    parts = cache.root / "parts"
    return sorted(path.name for path in parts.iterdir()) if parts.is_dir() else []


def test_the_iso_is_got_once(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, Shape(iso=ISO))
        image = await at.get(made)
        assert image.path.read_bytes() == made.isos["amd64"]
        assert image.sha256 == hashlib.sha256(made.isos["amd64"]).hexdigest()
        assert left_over(at.cache) == []
        layer = layer_of(made)
        assert at.registry.served[layer.digest] == layer.size_bytes
        at.registry.forget()
        assert await at.get(made) == image
        assert at.registry.asked == [], "a digest says all"
        tag = f"{VERSION}-x86_64"
        assert await at.get(made, tag=tag) == image
        assert at.registry.paths() == [f"/v2/{RELEASE}/manifests/{tag}"], "a tag is asked for, and no more"

    play(tmp_path, act)


def test_every_architecture_has_its_own(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, Shape(architectures=("amd64", "arm64"), iso=ISO))
        whole = await at.describe(at.reference(made), "")
        assert whole.architectures == ("amd64", "arm64")
        for architecture, rpm in (("amd64", "x86_64"), ("arm64", "aarch64")):
            image = await at.get(made, architecture, rpm)
            assert image.path.read_bytes() == made.isos[architecture]
        with pytest.raises(
            UserError, match="has no image for linux/s390x, only for linux/amd64, linux/arm64"
        ):
            await at.get(made, "s390x", "s390x")

    play(tmp_path, act)


def test_a_release_of_another_architecture_is_refused(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, Shape(iso=ISO))
        with pytest.raises(UserError, match="is for amd64, not for arm64"):
            await at.get(made, "arm64", "aarch64")

    play(tmp_path, act)


def test_an_index_whose_image_is_for_another_architecture(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, Shape(iso=ISO))
        lying = add_index(at.registry, RELEASE, "lying", {"arm64": made.image})
        with pytest.raises(UserError, match="is for amd64, not for arm64"):
            await at.get(replace(made, image=lying), "arm64", "aarch64")

    play(tmp_path, act)


def test_another_line_of_images_has_another_name(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, Shape(iso=ISO, stream="coreos10", version="5.0.0"))
        assert (await at.get(made, stream="rhel-10")).path.read_bytes() == made.isos["amd64"]
        with pytest.raises(UserError, match=r"has no file coreos/coreos-x86_64\.iso"):
            await at.get(made)
        assert left_over(at.cache) == []

    play(tmp_path, act)


def test_a_broken_connection_is_gone_on_with(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, Shape(iso=ISO))
        layer = layer_of(made)
        at.registry.faults.cuts[layer.digest] = [1 << 20, 2 << 20]
        assert (await at.get(made)).path.read_bytes() == made.isos["amd64"]
        asked = [
            each.headers.get("range", "bytes=0-") for each in at.registry.asked if layer.digest in each.path
        ]
        starts = [int(each.removeprefix("bytes=").rstrip("-")) for each in asked]
        assert len(starts) == 3
        assert starts == sorted(set(starts)), "each time from where it was"

    play(tmp_path, act)


def test_an_interrupted_run_is_gone_on_with(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, Shape(iso=ISO))
        layer = layer_of(made)
        half = layer.size_bytes // 2
        at.registry.faults.stalls[layer.digest] = [half]
        task = asyncio.create_task(at.get(made))
        async with asyncio.timeout(30):
            while at.registry.served[layer.digest] < half:  # noqa: ASYNC110 - it is a number that grows
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [name.rpartition(".")[2] for name in left_over(at.cache)] == ["json", "part"]
        assert not [*at.cache.root.glob("images/*")]
        at.registry.forget()
        assert (await at.get(made)).path.read_bytes() == made.isos["amd64"]
        assert at.registry.served[layer.digest] < layer.size_bytes
        assert left_over(at.cache) == []

    play(tmp_path, act)


def test_what_an_earlier_run_left_may_be_bad(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, Shape(iso=ISO))
        layer = layer_of(made)
        part = at.cache.places.part(f"layer {layer.digest}")
        part.parent.mkdir(parents=True)
        part.write_bytes(bytes(1 << 20))
        assert (await at.get(made)).path.read_bytes() == made.isos["amd64"]
        assert left_over(at.cache) == []

    play(tmp_path, act)


@pytest.mark.parametrize(
    ("shape", "why", "kind"),
    [
        (Shape(sha256=b"0" * 64), "but beside it stands 0000", MediaError),
        (Shape(published="0" * 64), r"coreos-stream\.json says 0000", MediaError),
        (Shape(sha256=b"no hash"), r"coreos-x86_64\.iso\.sha256 .* is not a SHA-256", MediaError),
        (Shape(machine_os=False), "has no component machine-os-images", UserError),
        (
            Shape(files={"release-manifests/release-metadata": None}),
            "it has no /release-manifests",
            MediaError,
        ),
        (Shape(files={"release-manifests/image-references": None}), "is not a release", UserError),
        (Shape(files={"release-manifests/image-references": b"{"}), "is not JSON", MediaError),
        (Shape(files={"release-manifests/image-references": b"[]"}), "is not an object", MediaError),
        (Shape(iso=b"not an ISO"), "ISO", MusterError),
    ],
)
def test_releases_that_lie_or_lack_something(
    tmp_path: Path, shape: Shape, why: str, kind: type[MusterError]
) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, shape if shape.iso != b"an ISO" else replace(shape, iso=ISO))
        with pytest.raises(kind, match=why):
            await at.get(made)
        assert left_over(at.cache) == []
        assert not [*at.cache.root.glob("images/*")]

    play(tmp_path, act)


def test_a_layer_that_is_not_what_its_manifest_says(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, Shape(iso=ISO))
        layer = layer_of(made)
        at.registry.faults.instead[layer.digest] = bytes(layer.size_bytes)
        with pytest.raises(ExternalError, match=layer.digest):
            await at.get(made)
        assert left_over(at.cache) == []
        del at.registry.faults.instead[layer.digest]
        assert (await at.get(made)).path.read_bytes() == made.isos["amd64"]

    play(tmp_path, act)


def test_an_image_that_lies_about_the_size_of_a_layer(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, Shape(iso=ISO))
        layer = layer_of(made)
        at.registry.faults.instead[layer.digest] = at.registry.blobs[layer.digest][:-1]
        with pytest.raises(ExternalError, match="is not what its manifest says"):
            await at.get(made)

    play(tmp_path, act)


def test_too_little_room_is_told_before(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, Shape(iso=ISO))
        full = replace_cache(at, lambda _path: 1 << 20)
        with pytest.raises(ExternalError, match=r"are needed in .*, and 1\.0 MiB are free"):
            await full.get(made)

    play(tmp_path, act)


def replace_cache(at: Scene, free_bytes: Callable[[Path], int]) -> Scene:
    return Scene(at.registry, at.client, Cache(at.cache.root, free_bytes=free_bytes))


def test_out_of_a_store_nothing_is_kept_twice(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.registry, Shape(iso=ISO))
        store = create_store(tmp_path / "store")
        tagged = at.reference(made, f"{VERSION}-x86_64")
        await pull(at.client, tagged, store)
        for part in made.components.values():
            await pull(at.client, Reference(REGISTRY, CONTENT, "", part.digest), store)
        at.registry.forget()
        assert [each.reference for each in find_releases(store)] == [tagged]
        found = choose_release(store, architecture="amd64")
        source = StoreSource(store, found.image, str(found.reference))
        release = await describe(source, found.reference, "amd64")
        live = kind_of(release).live_image(release, "rhel-9", "x86_64")
        assert live is not None
        wanted = Wanted(live, "amd64", release.version)
        assert find_kept(wanted, at.cache, SILENT) is None
        image = await obtain_now(wanted, FromStore(store), at.cache)
        assert digest_of(image.path.read_bytes()) == f"sha256:{image.sha256}"
        assert at.registry.asked == []
        with pytest.raises(UserError, match="has no release for arm64, only"):
            choose_release(store, architecture="arm64")
        with pytest.raises(UserError, match="has no release 'other'"):
            choose_release(store, "other")

    play(tmp_path, act)


def test_a_store_with_several_releases_asks_which(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        store = create_store(tmp_path / "store")
        for version in ("4.22.0", "4.22.1"):
            make_release(at.registry, Shape(version=version))
            await pull(at.client, Reference(REGISTRY, RELEASE, f"{version}-x86_64"), store)
        with pytest.raises(UserError, match="has several releases") as caught:
            choose_release(store)
        assert "oci:" in caught.value.hint
        assert choose_release(store, "4.22.1-x86_64").reference.tag == "4.22.1-x86_64"

    play(tmp_path, act)
