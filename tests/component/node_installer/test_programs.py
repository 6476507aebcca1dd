# SPDX-License-Identifier: Apache-2.0
"""A host gets its programs as they are run, proven on its disk, and everybody on it may run them."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from muster.files import part_of
from muster.node.bringing import Count, bring
from muster.node.install import install
from muster.release.mirror.sides import Origin
from muster.release.node.images import NodeImage, NodeProgram
from muster.release.oci.digest import Digest
from muster.release.store.store import Store, create_store, open_store
from tests.component.node_installer.carrying import PLACE, Host, save_reached
from tests.stores import program_of, put_program
from tests.unit.node.test_plan import request

KUBE = program_of("kube", 300_000)


def carry_program(host: Host, wanted: bytes = KUBE) -> None:
    """A program on the medium, and in the list of the host."""
    store = create_store(host.root / "run/media/iso/release")
    made = put_program(store, "kube", len(KUBE))
    store.name({f"{PLACE}/kube:v1": made.descriptor})
    image = NodeImage(f"{PLACE}/kube@{made.digest}", sum(blob.size_bytes for blob in made.blobs))
    program = NodeProgram(image, "amd64", "/kube", hashlib.sha256(wanted).hexdigest(), len(wanted))
    host.carrying({}, "127.0.0.1:9", programs=(program,))


@pytest.mark.parametrize("has_memory", [True, False])
def test_programs_lie_on_the_disk_as_they_are_run(host: Host, has_memory: bool) -> None:
    carry_program(host)
    if has_memory:
        host.give_memory()
    assert asyncio.run(install(request(), host.ports())) is None
    (path,) = host.programs.iterdir()
    assert (path.name, path.read_bytes()) == (hashlib.sha256(KUBE).hexdigest(), KUBE)
    assert {each.stat().st_mode & 0o777 for each in (path, path.parent)} == {0o755}
    assert bool(open_store(host.images).contents().images) != has_memory
    assert not (host.ports().folder / "programs").exists()
    assert host.restarted


@pytest.mark.parametrize("what", ["another", "shorter"])
def test_a_program_that_was_tampered_with_is_brought_again(host: Host, what: str) -> None:
    carry_program(host)
    assert asyncio.run(install(request(), host.ports())) is None
    (path,) = host.programs.iterdir()
    path.write_bytes(KUBE[:-1] if what == "shorter" else KUBE[::-1])
    save_reached(host, "verified")
    assert asyncio.run(install(request(), host.ports())) is None
    assert path.read_bytes() == KUBE


def test_an_image_that_the_disk_did_not_keep_is_brought_again(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoiled: list[Digest] = []

    async def spoil(
        images: Sequence[NodeImage], origins: Sequence[Origin], store: Store, count: Count
    ) -> None:
        await bring(images, origins, store, count)
        if not spoiled:
            for digest, size in store.blobs.everything():
                spoiled.append(digest)
                store.blobs.path(digest).write_bytes(bytes(size))

    monkeypatch.setattr("muster.node.shelving.bring", spoil)
    carry_program(host)
    assert asyncio.run(install(request(), host.ports())) is None
    assert spoiled
    (path,) = host.programs.iterdir()
    assert path.read_bytes() == KUBE


def test_what_a_killed_installer_left_of_a_program_is_removed(host: Host) -> None:
    carry_program(host)
    assert asyncio.run(install(request(), host.ports())) is None
    (path,) = host.programs.iterdir()
    path.rename(part_of(path))
    save_reached(host, "verified")
    assert asyncio.run(install(request(), host.ports())) is None
    assert [*host.programs.iterdir()] == [path]
    assert path.read_bytes() == KUBE


def test_a_disk_that_does_not_keep_a_program_is_named(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(path: Path) -> None:
        if path.exists():
            path.write_bytes(bytes(path.stat().st_size))

    monkeypatch.setattr("muster.node.shelving.let_go", forget)
    carry_program(host)
    told = asyncio.run(install(request(), host.ports()))
    assert told is not None
    assert told.startswith("what this host starts from is not on its disk: the disk does not hold")
    assert list(host.programs.iterdir()) == []
    assert not host.restarted


def test_a_program_that_is_not_what_the_release_says_is_refused(host: Host) -> None:
    carry_program(host, b"something else")
    told = asyncio.run(install(request(), host.ports()))
    assert told is not None
    assert "has the SHA-256 " in told
    assert list(host.programs.iterdir()) == []
    assert not host.restarted


def test_everybody_may_pass_through_to_what_a_host_takes_along(host: Host) -> None:
    """The installer makes files for root alone, and the first boot takes /var as it was left."""
    carry_program(host)
    before = os.umask(0o077)
    try:
        assert asyncio.run(install(request(), host.ports())) is None
    finally:
        os.umask(before)
    way = [
        host.disk_root / "hand-over" / each for each in ("", "var", "var/lib", "var/lib/muster", "programs")
    ]
    assert {each.stat().st_mode & 0o777 for each in way} == {0o755}
