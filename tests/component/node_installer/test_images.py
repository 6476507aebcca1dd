# SPDX-License-Identifier: Apache-2.0
"""A host gets the images that it starts from, whatever happens to registries, disks and the installer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from muster.model.ignition import File
from muster.node.install import install
from muster.release.node.images import FILE, NodeImage, NodeImages
from muster.release.node.runtime import LOGINS, TRUST
from muster.release.oci.manifest import Manifest
from muster.release.store.store import create_store, open_store
from muster.release.store.verify import verify_store
from tests.component.node_installer.carrying import PLACE, Host, save_reached
from tests.component.release.rough_registry import RoughRegistry
from tests.component.release.rough_registry import start_registry as start_rough
from tests.component.release.served import make_papers, save_users, start_registry
from tests.stores import noise, put_image
from tests.unit.node.test_plan import request

BIG, SMALL = noise(1, 600_000), noise(2, 40_000)
COPYING = "Copying registry data to disk"
LOGIN = "node:secret"
AUTH = '{"auths": {"%s": {"auth": "bm9kZTpzZWNyZXQ="}}}'


def whole(host: Host, images: dict[str, Manifest]) -> bool:
    """Whether the disk has all of the images, every byte of them."""
    report = verify_store(open_store(host.images), full=True)
    names = {f"{PLACE}/{name}@{made.digest}" for name, made in images.items()}
    return report.is_good and {*report.whole} == names


def fill(registry: RoughRegistry) -> dict[str, Manifest]:
    return {
        "kubernetes/kube": registry.add_image("kubernetes/kube", "", [BIG]),
        "kubernetes/pause": registry.add_image("kubernetes/pause", "", [SMALL]),
    }


def test_from_the_sites_registry_with_its_authority_and_login(host: Host, tmp_path: Path) -> None:
    store = create_store(tmp_path / "store")
    images = {
        name: put_image(store, layers, f"{PLACE}/{name}:v1")
        for name, layers in (("kubernetes/kube", [BIG, SMALL]), ("kubernetes/pause", [SMALL]))
    }
    papers = make_papers(tmp_path / "papers")
    users = save_users(tmp_path / "users", LOGIN)
    flags = ("--certificate", papers.certificate, "--key", papers.key, "--htpasswd", users)
    with start_registry(store.root, tmp_path, *flags) as served:
        trust = File(TRUST, papers.certificate.read_bytes())
        logins = File(LOGINS, (AUTH % served.place).encode())
        host.carrying(images, served.place, trust, logins, insecure=False)
        assert asyncio.run(install(request(), host.ports())) is None
    assert whole(host, images)
    assert host.listener.names()[-3:] == ["Writing image to disk", COPYING, "Rebooting"]
    infos = [info for stage, info, _ in host.listener.stages if stage == COPYING]
    assert any(info.startswith("copying images to the disk: ") for info in infos)
    assert any(info.startswith("reading images back: 664 KiB of 664 KiB") for info in infos), infos
    assert host.restarted
    assert host.listener.warnings == []
    assert not (host.images / "partial").exists()


def run_with_rough(host: Host, work: Callable[[RoughRegistry, dict[str, Manifest]], Awaitable[None]]) -> None:
    async def go() -> None:
        async with start_rough() as registry:
            images = fill(registry)
            host.carrying(images, registry.host)
            await work(registry, images)

    asyncio.run(go())


def test_they_are_fetched_while_the_disk_is_written(host: Host) -> None:
    async def work(registry: RoughRegistry, images: dict[str, Manifest]) -> None:
        registry.alarm_at = sum(map(len, registry.blobs.values()))

        async def all_were_served() -> None:
            await asyncio.wait_for(registry.alarm.wait(), 60)

        host.give_memory()
        host.copying.instead = all_were_served
        assert await install(request(), host.ports()) is None
        assert whole(host, images)
        assert registry.served.total() == registry.alarm_at, "nothing comes twice"
        assert not (host.ports().folder / "images").exists()

    run_with_rough(host, work)


def test_without_memory_they_come_after_the_disk_was_checked(host: Host) -> None:
    async def work(registry: RoughRegistry, images: dict[str, Manifest]) -> None:
        asked: list[int] = []

        async def look() -> None:
            asked.append(len(registry.asked))

        host.copying.instead = look
        assert await install(request(), host.ports()) is None
        assert asked == [0]
        assert whole(host, images)

    run_with_rough(host, work)


def test_a_killed_installer_goes_on_and_fetches_nothing_twice(host: Host) -> None:
    async def work(registry: RoughRegistry, images: dict[str, Manifest]) -> None:
        big = images["kubernetes/kube"].layers[0].digest
        registry.alarm_at, registry.faults.stalls = 300_000, {big: [300_000]}
        task = asyncio.create_task(install(request(), host.ports()))
        await asyncio.wait_for(registry.alarm.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert host.reached() == "verified"
        before = registry.served[big]
        assert await install(request(), host.ports()) is None
        assert whole(host, images)
        assert len(host.copying.commands) == 1, "the disk is not written again"
        assert before <= registry.served[big] < len(BIG) + 300_000
        registry.forget()
        assert await install(request(), host.ports()) is None
        assert registry.paths() == []

    run_with_rough(host, work)


@pytest.mark.parametrize("what", ["layer", "manifest", "shorter", "index"])
def test_what_was_tampered_with_is_refused_and_fetched_again(host: Host, what: str) -> None:
    async def work(registry: RoughRegistry, images: dict[str, Manifest]) -> None:
        assert await install(request(), host.ports()) is None
        made = images["kubernetes/kube"]
        digest = made.digest if what == "manifest" else made.layers[0].digest
        path = host.images / "index.json" if what == "index" else open_store(host.images).blobs.path(digest)
        data = bytearray(path.read_bytes())
        data[10] ^= 1
        path.write_bytes(data[:-1] if what == "shorter" else data)
        save_reached(host, "verified")
        host.listener.stages.clear()
        assert await install(request(), host.ports()) is None
        assert whole(host, images)
        assert not any("trying again" in info for info in host.told), host.told

    run_with_rough(host, work)


def test_a_disk_that_keeps_nothing_is_named_before_anything_restarts(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget(path: Path) -> None:
        """The disk gives other bytes than it was given."""
        path.write_bytes(bytes(path.stat().st_size))

    monkeypatch.setattr("muster.node.stocking.let_go", forget)

    async def work(registry: RoughRegistry, images: dict[str, Manifest]) -> None:
        told = await install(request(), host.ports())
        assert told is not None
        assert told.startswith("what this host starts from is not on its disk: the disk does not hold")
        assert "replace what is broken" in told
        assert registry.served[images["kubernetes/kube"].layers[0].digest] == 3 * len(BIG)

    run_with_rough(host, work)
    assert not host.restarted
    assert host.listener.stages[-1][0] == "Failed"


def test_a_registry_that_goes_away_is_waited_for_then_named_and_nothing_restarts(host: Host) -> None:
    async def work(registry: RoughRegistry, images: dict[str, Manifest]) -> None:
        big = images["kubernetes/kube"].layers[0].digest

        async def go_away() -> None:
            await registry.alarm.wait()
            registry.faults.statuses = [503] * 100_000

        registry.alarm_at, registry.faults.cuts = 100_000, {big: [200_000]}
        going = asyncio.create_task(go_away())
        told = await install(request(), host.ports())
        await going
        assert told is not None
        assert told.startswith("what this host starts from is not on its disk: ")
        assert "answered 503" in told
        assert 0 < registry.served[big] < len(BIG)
        assert host.now >= 600
        assert any(info.startswith("trying again soon: ") for info in host.told)
        assert not host.restarted
        assert host.reached() == "verified"
        registry.faults.statuses = []
        assert await install(request(), host.ports()) is None
        assert whole(host, images)
        assert len(host.copying.commands) == 1
        assert host.restarted

    run_with_rough(host, work)


def test_a_registry_that_comes_back_is_gone_on_with(host: Host) -> None:
    async def work(registry: RoughRegistry, images: dict[str, Manifest]) -> None:
        big = images["kubernetes/kube"].layers[0].digest
        registry.faults.cuts = {big: [200_000, 100_000]}
        registry.faults.only, registry.faults.statuses = "/manifests/", [503, 503]
        assert await install(request(), host.ports()) is None
        assert whole(host, images)
        assert registry.served[big] == len(BIG), "it goes on within the blob"
        assert host.now > 0

    run_with_rough(host, work)


def test_a_mirror_that_sends_something_else_is_not_believed(host: Host) -> None:
    async def work(registry: RoughRegistry, images: dict[str, Manifest]) -> None:
        big = images["kubernetes/kube"].layers[0].digest
        registry.faults.instead = {big: noise(3, len(BIG))}
        told = await install(request(), host.ports())
        assert told is not None
        assert big in told
        assert not host.restarted
        assert not open_store(host.images).blobs.path(big).exists()

    run_with_rough(host, work)


def test_from_the_medium_without_any_registry(host: Host) -> None:
    store = create_store(host.root / "run/media/iso/release")
    images = {"kubernetes/kube": put_image(store, [BIG], f"{PLACE}/kubernetes/kube:v1.36.3")}
    host.carrying(images, "127.0.0.1:9")
    assert asyncio.run(install(request(), host.ports())) is None
    assert whole(host, images)
    assert host.restarted


def test_what_the_medium_lost_comes_from_the_registry(host: Host) -> None:
    async def work(registry: RoughRegistry, images: dict[str, Manifest]) -> None:
        store = create_store(host.root / "run/media/iso/release")
        made = put_image(store, [BIG], f"{PLACE}/kubernetes/kube:v1.36.3")
        path = store.blobs.path(made.layers[0].digest)
        path.write_bytes(path.read_bytes()[:-1] + b"?")
        images["kubernetes/kube"] = made
        registry.add_blob((store.blobs.path(made.config.digest)).read_bytes()) if made.config else None
        registry.add_manifest("kubernetes/kube", "", made)
        host.carrying(images, registry.host)
        assert await install(request(), host.ports()) is None
        assert whole(host, images)

    run_with_rough(host, work)


def test_a_worker_tells_it_in_a_stage_that_it_has(host: Host) -> None:
    async def work(_registry: RoughRegistry, images: dict[str, Manifest]) -> None:
        worker = msgspec.structs.replace(request(), role="worker")
        assert await install(worker, host.ports()) is None
        assert COPYING not in host.listener.names()
        assert any(info.startswith("reading images back: ") for info in host.told)
        assert whole(host, images)

    run_with_rough(host, work)


def test_a_disk_without_room_says_so_at_once(host: Host) -> None:
    async def work(registry: RoughRegistry, _images: dict[str, Manifest]) -> None:
        config = msgspec.json.decode(host.service.ignition)
        huge = NodeImages((NodeImage(f"{PLACE}/kube@sha256:{'0' * 64}", 1 << 60),))
        config["storage"]["files"] = [
            {"path": FILE, "contents": {"source": f"data:,{msgspec.json.encode(huge).decode()}"}}
        ]
        host.service.ignition = msgspec.json.encode(config)
        told = await install(request(), host.ports())
        assert told is not None
        assert "the disk has no room for the images" in told
        assert registry.asked == []

    run_with_rough(host, work)
    assert not host.restarted
