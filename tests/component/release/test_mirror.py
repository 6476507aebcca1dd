# SPDX-License-Identifier: Apache-2.0
"""Whole releases are copied, and gone on with; what is missing is named, with who needs it."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from muster.errors import MusterError
from muster.model.registries import Mirror, RegistriesConf, Registry
from muster.release.mirror.ends import Prefix
from muster.release.mirror.needs import Need
from muster.release.mirror.run import Order, Outcome, mirror
from muster.release.mirror.sides import Destination, FromRegistry, FromStore, Origin, ToRegistry, ToStore
from muster.release.oci.client import Client, Settings, open_client
from muster.release.oci.reference import Reference, parse_reference
from muster.release.store.store import Store, create_store
from tests.component.release.meeting import LIMITS, patience_of
from tests.component.release.payload import CONTENT, REGISTRY, Made, Shape, make_release
from tests.component.release.rough_registry import RoughRegistry, start_registry


def order_of(made: Made, origin: Origin, destination: Destination) -> Order:
    needs = [
        Need(Reference(REGISTRY, CONTENT, "", image.digest), (f"component {name}",), f"4.22.0-{name}")
        for name, image in made.components.items()
    ]
    return Order(Need(made.reference, ("the release",), "4.22.0"), tuple(needs), origin, destination)


def settings_for(source: RoughRegistry, *others: RoughRegistry) -> Settings:
    """A client that finds the made-up registry where it really is."""
    return Settings(
        insecure=frozenset(each.host for each in (source, *others)),
        registries=RegistriesConf((Registry(location=REGISTRY, mirrors=(Mirror(source.host),)),)),
        limits=LIMITS,
        patience=patience_of([], tries=2),
    )


@dataclass
class Scene:
    """Two registries, a store, and a client that knows both."""

    source: RoughRegistry
    target: RoughRegistry
    store: Store
    client: Client

    @property
    def to_registry(self) -> ToRegistry:
        return ToRegistry(self.client, Prefix(self.target.host, "mirror"))

    @property
    def from_registry(self) -> FromRegistry:
        return FromRegistry(self.client)


def play(tmp_path: Path, act: object) -> None:
    async def go() -> None:
        async with (
            start_registry() as source,
            start_registry() as target,
            open_client(settings_for(source, target)) as client,
        ):
            await act(Scene(source, target, create_store(tmp_path / "store"), client))  # type: ignore[operator]

    asyncio.run(go())


def whole(outcome: Outcome) -> bool:
    return not outcome.missing


def test_registry_to_registry(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source)
        outcome = await mirror(order_of(made, at.from_registry, at.to_registry))
        assert whole(outcome)
        assert outcome.copied == len(made.components) + 1
        assert at.target.blobs == at.source.blobs
        for image in made.components.values():
            assert (f"mirror/{CONTENT}", image.digest) in at.target.manifests
        tags = {wanted for _, wanted in at.target.manifests if not wanted.startswith("sha256:")}
        assert tags == {"4.22.0", *(f"4.22.0-{name}" for name in made.components)}

    play(tmp_path, act)


def test_what_is_there_is_only_asked_for(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source)
        order = order_of(made, at.from_registry, at.to_registry)
        await mirror(order)
        at.source.forget()
        at.target.forget()
        outcome = await mirror(order_of(made, at.from_registry, at.to_registry))
        assert whole(outcome)
        assert (outcome.copied, outcome.to_copy_bytes) == (0, 0)
        assert at.source.asked == []
        assert {asked.method for asked in at.target.asked} == {"GET", "HEAD"}
        assert not [path for path in at.target.paths("GET") if "/blobs/" in path]

    play(tmp_path, act)


def test_into_a_store_and_out_of_it(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source)
        assert whole(await mirror(order_of(made, at.from_registry, ToStore(at.store))))
        names = at.store.contents().images
        assert str(made.reference) in names
        at.source.forget()
        other = create_store(tmp_path / "other")
        assert whole(await mirror(order_of(made, FromStore(at.store), ToStore(other))))
        assert other.contents() == at.store.contents()
        outcome = await mirror(order_of(made, FromStore(other), at.to_registry))
        assert whole(outcome)
        assert at.target.blobs == at.source.blobs
        assert at.source.asked == []
        again = await mirror(order_of(made, FromStore(at.store), ToStore(other)))
        assert (again.copied, again.to_copy_bytes) == (0, 0)

    play(tmp_path, act)


def test_a_release_for_several_architectures_comes_as_a_whole(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source, Shape(architectures=("amd64", "arm64")))
        assert whole(await mirror(order_of(made, at.from_registry, at.to_registry)))
        assert at.target.blobs == at.source.blobs
        assert {digest for _, digest in at.source.manifests} <= {
            *(digest for _, digest in at.target.manifests),
            "4.22.0-multi",
        }

    play(tmp_path, act)


def test_a_dry_run_tells_how_much_and_changes_nothing(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source)
        order = replace(order_of(made, at.from_registry, at.to_registry), is_dry=True)
        outcome = await mirror(order)
        sizes = sum(len(blob) for blob in at.source.blobs.values())
        assert outcome.to_copy_bytes == sizes
        assert outcome.total_bytes > sizes
        assert at.target.blobs == {}
        assert at.target.manifests == {}
        assert not at.source.served

    play(tmp_path, act)


def test_what_the_source_has_not_is_named_with_who_needs_it(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source)
        gone = made.components["etcd"]
        for key in [key for key in at.source.manifests if key[1] == gone.digest]:
            del at.source.manifests[key]
        outcome = await mirror(order_of(made, at.from_registry, at.to_registry))
        release, etcd = outcome.missing
        assert etcd.need.needed_by == ("component etcd",)
        assert gone.digest in etcd.reason
        assert "1 of them" in release.reason
        assert ("mirror/ocp/release", made.image.digest) not in at.target.manifests
        assert outcome.copied == len(made.components) - 1

    play(tmp_path, act)


def test_a_copy_that_lost_a_blob_gets_it_back(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source)
        await mirror(order_of(made, at.from_registry, at.to_registry))
        lost = made.components["cli"].layers[1]
        del at.target.blobs[lost.digest]
        at.target.owners = {owner for owner in at.target.owners if owner[1] != lost.digest}
        at.source.forget()
        outcome = await mirror(order_of(made, at.from_registry, at.to_registry))
        assert whole(outcome)
        assert (outcome.copied, outcome.to_copy_bytes) == (1, lost.size_bytes)
        assert at.target.blobs == at.source.blobs
        assert set(at.source.served) == {lost.digest}

    play(tmp_path, act)


def test_an_interrupted_copy_goes_on(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source, Shape(iso=random.Random(2).randbytes(4_000_000)))
        layer = max(made.components["machine-os-images"].layers, key=lambda each: each.size_bytes)
        half = layer.size_bytes // 2
        at.source.faults.stalls[layer.digest] = [half]
        task = asyncio.create_task(mirror(order_of(made, at.from_registry, ToStore(at.store))))
        async with asyncio.timeout(30):
            while at.source.served[layer.digest] < half:  # noqa: ASYNC110 - it is a number that grows
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert str(made.reference) not in at.store.contents().images
        at.source.forget()
        assert whole(await mirror(order_of(made, at.from_registry, ToStore(at.store))))
        assert at.source.served[layer.digest] < layer.size_bytes
        ranges = [asked.headers.get("range") for asked in at.source.asked if layer.digest in asked.path]
        assert any(ranges)

    play(tmp_path, act)


def test_trouble_that_passes_is_lived_through(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source)
        at.source.faults.only = "/blobs/"
        at.source.faults.statuses = [500, 429, 503]
        assert whole(await mirror(order_of(made, at.from_registry, at.to_registry)))

    play(tmp_path, act)


def test_a_lie_of_the_source_does_not_reach_the_copy(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source)
        layer = made.components["hyperkube"].layers[1]
        at.source.faults.instead[layer.digest] = bytes(layer.size_bytes)
        outcome = await mirror(order_of(made, at.from_registry, ToStore(at.store)))
        assert [finding.need.needed_by for finding in outcome.missing] == [
            ("the release",),
            ("component hyperkube",),
        ]
        assert at.store.blobs.size(layer.digest) is None
        assert layer.digest in outcome.missing[1].reason

    play(tmp_path, act)


def test_a_destination_that_refuses_is_one_error(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source)
        at.target.faults.login = "basic"
        with pytest.raises(MusterError, match="login"):
            await mirror(order_of(made, at.from_registry, at.to_registry))
        assert len(at.target.asked) < 5

    play(tmp_path, act)


def test_a_copy_can_be_copied_without_being_told_where_it_is(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source)
        await mirror(order_of(made, at.from_registry, at.to_registry))
        at.source.manifests.clear()
        copy = at.target.reference("mirror/ocp/release", "4.22.0")
        origin = FromRegistry(at.client, copy)
        order = order_of(made, origin, ToStore(at.store))
        assert whole(
            await mirror(replace(order, release=Need(replace(copy, digest=made.image.digest), ("x",))))
        )
        assert f"{REGISTRY}/{CONTENT}@{made.components['etcd'].digest}" in at.store.contents().images

    play(tmp_path, act)


def test_a_release_that_is_no_copy_of_ours_is_looked_for_once(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source)
        elsewhere = at.target.reference("some/where/release", "4.22.0")
        origin = FromRegistry(at.client, elsewhere)
        for image in made.components.values():
            source = await origin.source(Reference(REGISTRY, CONTENT, "", image.digest))
            assert (await source.root()).digest == image.digest
        assert len([path for path in at.target.paths() if "/manifests/" in path]) == 3

    play(tmp_path, act)


def test_images_by_tag_are_named_by_it(tmp_path: Path) -> None:
    async def act(at: Scene) -> None:
        made = make_release(at.source)
        at.source.add_image("team/web", "v1", [b"web"])
        web = Need(parse_reference(f"{REGISTRY}/team/web:v1"), ("--image",))
        order = order_of(made, at.from_registry, at.to_registry)
        order = replace(order, needs=(*order.needs, web))
        assert whole(await mirror(order))
        assert ("mirror/team/web", "v1") in at.target.manifests
        del at.target.manifests["mirror/team/web", "v1"]
        outcome = await mirror(order)
        assert outcome.copied == 1
        assert ("mirror/team/web", "v1") in at.target.manifests

    play(tmp_path, act)
