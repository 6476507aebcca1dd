# SPDX-License-Identifier: Apache-2.0
"""Images are looked for at real registries: our own, and one that misbehaves."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from muster.agent.steps import container_image_availability
from muster.agent.steps.container_image_availability import run
from muster.agent.steps.outcome import BadArguments, Outcome
from muster.model.medium import CARRIED_RELEASE
from muster.release.store.store import create_store
from muster.run import Said
from tests.component.agent_machine_steps.machines import RecordedMachine, host
from tests.component.release import served
from tests.component.release.rough_registry import BASIC, RoughRegistry, start_registry
from tests.stores import REGISTRY, build_stored, noise, put_image

LARGE = random.Random(2).randbytes(3_000_000)
SMALL = random.Random(3).randbytes(40_000)
Scene = Callable[[RoughRegistry], Coroutine[Any, Any, None]]


def save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def mirror(root: Path, prefix: str, *places: str) -> None:
    """Images are taken from places without TLS."""
    mirrors = "".join(f'[[registry.mirror]]\nlocation = "{each}"\ninsecure = true\n' for each in places)
    save(
        root / "etc/containers/registries.conf",
        f'[[registry]]\nlocation = "{prefix}"\nblocked = true\n{mirrors}',
    )


def log_in(root: Path, place: str, auth: str) -> None:
    save(root / "root/.docker/config.json", json.dumps({"auths": {place: {"auth": auth}}}))


def play(scene: Scene) -> None:
    async def go() -> None:
        async with start_registry() as registry:
            await scene(registry)

    asyncio.run(go())


async def look(root: Path, *images: str, limit_s: int = 60) -> Outcome:
    return await run(host(root), (json.dumps({"images": images, "timeout": limit_s}),))


def results(outcome: Outcome) -> list[str]:
    return [each["result"] for each in json.loads(outcome.output)["images"]]


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def test_our_own_registry_behind_tls_and_a_login(tmp_path: Path) -> None:
    stored = build_stored(tmp_path / "store")
    papers = served.make_papers(tmp_path / "papers")
    users = served.save_users(tmp_path / "users", "joe:hunter2")
    flags = ("--certificate", papers.certificate, "--key", papers.key, "--htpasswd", users)
    root = tmp_path / "root"
    with served.start_registry(stored.store.root, tmp_path, *flags) as registry:
        save(
            root / "etc/containers/registries.conf",
            f'[[registry]]\nlocation = "{REGISTRY}"\n[[registry.mirror]]\nlocation = "{registry.place}"\n',
        )
        log_in(root, registry.place, BASIC.removeprefix("Basic "))
        save(root / "etc/pki/ca-trust/source/anchors/domain.crt", papers.certificate.read_text())
        image = f"{REGISTRY}/team/tool@{stored.tool.digest}"
        outcome = asyncio.run(look(root, image))
    assert (outcome.exit_code, outcome.error) == (0, "")
    (found,) = json.loads(outcome.output)["images"]
    assert (found["name"], found["result"]) == (image, "success")
    assert found["size_bytes"] == stored.layer.size_bytes
    assert found["download_rate"] > 0
    assert found["time"] > 0


def test_of_an_index_the_image_for_this_host(tmp_path: Path) -> None:
    async def scene(registry: RoughRegistry) -> None:
        own = registry.add_image("a/b", "", [LARGE, SMALL], "amd64")
        other = registry.add_image("a/b", "", [SMALL], "arm64")
        registry.add_index("a/b", "v1", {"arm64": other, "amd64": own})
        mirror(tmp_path, "r.example.com", registry.host)
        machine = RecordedMachine(tmp_path, {"uname": Said(0, "x86_64\n", "")})
        outcome = await run(machine, ('{"images": ["r.example.com/a/b:v1"]}',))
        assert (outcome.exit_code, outcome.error) == (0, "")
        assert json.loads(outcome.output)["images"][0]["size_bytes"] == len(LARGE) + len(SMALL)

        machine = RecordedMachine(tmp_path, {"uname": Said(0, "ppc64le\n", "")})
        outcome = await run(machine, ('{"images": ["r.example.com/a/b:v1"]}',))
        assert outcome.exit_code == 2
        assert "has no image for linux/ppc64le, only for linux/amd64, linux/arm64" in outcome.error

    play(scene)


def test_an_image_for_other_hosts(tmp_path: Path) -> None:
    async def scene(registry: RoughRegistry) -> None:
        registry.add_image("a", "v1", [SMALL], "s390x")
        mirror(tmp_path, "r.example.com", registry.host)
        machine = RecordedMachine(tmp_path, {"uname": Said(0, "aarch64\n", "")})
        outcome = await run(machine, ('{"images": ["r.example.com/a:v1"]}',))
        assert (outcome.exit_code, outcome.error) == (
            2,
            "r.example.com/a:v1 is for s390x, and this host is arm64",
        )

    play(scene)


def test_of_a_large_layer_only_the_beginning_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_image_availability, "_SAMPLE_BYTES", 100_000)

    async def scene(registry: RoughRegistry) -> None:
        manifest = registry.add_image("a", "v1", [SMALL, LARGE], host_architecture())
        digest = manifest.layers[1].digest
        registry.faults.stalls[digest] = [200_000]  # Who wants more waits for an hour.
        mirror(tmp_path, "r.example.com", registry.host)
        outcome = await look(tmp_path, "r.example.com/a:v1")
        assert outcome.exit_code == 0, outcome.error
        assert registry.served[digest] <= 200_000
        assert registry.served[manifest.layers[0].digest]

    play(scene)


def test_each_failure_has_its_reason_and_hides_no_other_image(tmp_path: Path) -> None:
    async def scene(registry: RoughRegistry) -> None:
        registry.add_image("good", "v1", [SMALL], host_architecture())
        missing = registry.add_image("missing", "v1", [LARGE, b"a" * 50], host_architecture())
        del registry.blobs[missing.layers[1].digest]
        changed = registry.add_image("changed", "v1", [b"b" * 70_000], host_architecture())
        registry.faults.instead[changed.layers[0].digest] = b"c" * 70_000
        config = registry.add_image("config", "v1", [SMALL], "loong64").config
        assert config is not None
        registry.faults.instead[config.digest] = b"x" * config.size_bytes
        mirror(tmp_path, "r.example.com", registry.host)
        names = [f"r.example.com/{name}:v1" for name in ("good", "gone", "missing", "changed", "config")]
        outcome = await look(tmp_path, *names, "Not An Image", "r.example.com/good:v1")
        assert results(outcome) == ["success", *["failure"] * 5]
        gone, lacking, other, strange, unnamed = outcome.error.split("\n")
        assert "manifest unknown" in gone
        assert gone.startswith("cannot get r.example.com/gone:v1")
        assert lacking.startswith("r.example.com/missing:v1: the blob")
        assert "is not there" in lacking
        assert other.startswith("the blob sha256:")
        assert "of r.example.com/changed:v1 has another digest" in other
        assert strange.startswith("the blob sha256:")
        assert "r.example.com/config:v1" in strange
        assert "does not name an image" in unnamed
        assert outcome.exit_code == 2

    play(scene)


def test_a_manifest_that_is_not_what_its_digest_says(tmp_path: Path) -> None:
    async def scene(registry: RoughRegistry) -> None:
        manifest = registry.add_image("a", "v1", [SMALL], host_architecture())
        registry.faults.instead[manifest.digest] = manifest.data.replace(b"schema", b"Schema")
        mirror(tmp_path, "r.example.com", registry.host)
        outcome = await look(tmp_path, f"r.example.com/a@{manifest.digest}")
        assert results(outcome) == ["failure"]
        assert f"not {manifest.digest}" in outcome.error
        assert "\n" not in outcome.error

    play(scene)


@pytest.mark.parametrize("login", ["basic", "bearer"])
def test_a_registry_that_refuses(tmp_path: Path, login: str) -> None:
    async def scene(registry: RoughRegistry) -> None:
        registry.add_image("a", "v1", [SMALL], host_architecture())
        registry.faults.login = login
        mirror(tmp_path, "r.example.com", registry.host)
        outcome = await look(tmp_path, "r.example.com/a:v1")
        assert "wants a login to pull from a, and there is none" in outcome.error
        log_in(tmp_path, registry.host, "am9lOndyb25n")
        outcome = await look(tmp_path, "r.example.com/a:v1")
        assert f"{registry.host} refused the login for {registry.host} to pull from a" in outcome.error
        assert "wrong" not in outcome.error.replace("wrong digest", "")
        log_in(tmp_path, registry.host, BASIC.removeprefix("Basic "))
        assert (await look(tmp_path, "r.example.com/a:v1")).exit_code == 0

    play(scene)


def test_a_mirror_that_is_down_and_one_that_is_not(tmp_path: Path) -> None:
    async def scene(registry: RoughRegistry) -> None:
        registry.add_image("a", "v1", [SMALL], host_architecture())
        down = f"127.0.0.1:{closed_port()}"
        mirror(tmp_path, "r.example.com", down, registry.host)
        assert (await look(tmp_path, "r.example.com/a:v1")).exit_code == 0
        mirror(tmp_path, "r.example.com", down)
        outcome = await look(tmp_path, "r.example.com/a:v1")
        assert results(outcome) == ["failure"]
        assert "connection refused; gave up after 3 tries" in outcome.error

    play(scene)


def test_a_certificate_that_nobody_vouches_for(tmp_path: Path) -> None:
    stored = build_stored(tmp_path / "store")
    papers = served.make_papers(tmp_path / "papers")
    flags = ("--certificate", papers.certificate, "--key", papers.key)
    with served.start_registry(stored.store.root, tmp_path, *flags) as registry:
        outcome = asyncio.run(look(tmp_path / "root", f"{registry.place}/team/tool:v1"))
    assert results(outcome) == ["failure"]
    assert f"the certificate of {registry.place} is not trusted" in outcome.error


def test_the_deadline_is_one_for_all(tmp_path: Path) -> None:
    async def scene(registry: RoughRegistry) -> None:
        manifest = registry.add_image("slow", "v1", [LARGE], host_architecture())
        registry.add_image("good", "v1", [SMALL], host_architecture())
        registry.faults.stalls[manifest.layers[0].digest] = [0]
        mirror(tmp_path, "r.example.com", registry.host)
        outcome = await look(tmp_path, "r.example.com/slow:v1", "r.example.com/good:v1", limit_s=5)
        assert results(outcome) == ["failure", "success"]
        assert outcome.error == "r.example.com/slow:v1 was not fetched within 5 s"

    play(scene)


def test_settings_that_cannot_be_read_are_said_for_each_image(tmp_path: Path) -> None:
    save(tmp_path / "etc/containers/registries.conf", "[[registry")
    outcome = asyncio.run(look(tmp_path, "r.example.com/a:v1", "r.example.com/b:v1"))
    assert results(outcome) == ["failure", "failure"]
    first, second = outcome.error.split("\n")
    assert first.startswith("r.example.com/a:v1: ")
    assert second.startswith("r.example.com/b:v1: ")
    assert "registries.conf cannot be used" in first


@pytest.mark.parametrize("args", [(), ("{",), ('{"images": 1}',), ('{"images": [], "timeout": -1}',)])
def test_bad_arguments(tmp_path: Path, args: Sequence[str]) -> None:
    with pytest.raises(BadArguments):
        asyncio.run(run(host(tmp_path), args))


def host_architecture() -> str:
    """As Go names that of this machine."""
    machine = os.uname().machine
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def test_what_the_medium_carries_needs_no_registry(tmp_path: Path) -> None:
    store = create_store(tmp_path / CARRIED_RELEASE)
    image = put_image(store, [noise(1), noise(2)], "r.example.com/carried:v1")
    by_digest = f"r.example.com/carried@{image.digest}"

    outcome = asyncio.run(look(tmp_path, by_digest, "r.example.com/carried:v1"))
    assert outcome.error == ""
    assert results(outcome) == ["success", "success"]
