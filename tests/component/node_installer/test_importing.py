# SPDX-License-Identifier: Apache-2.0
"""The first boot from a disk: a real containerd takes the images that the installer left there."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from muster.machine import ThisMachine
from muster.node.importing import take_in
from muster.release.node.images import NodeImage, NodeImages
from muster.release.oci.manifest import Manifest
from muster.release.store.store import Store, create_store
from muster.run import Argument, Said
from tests.stores import put_program
from tests.unit.node.machines import Recorded

PLACE = "muster.local/kubernetes"
DEADLINE_S = 60.0
CONFIG = """\
version = 2
root = "{folder}/root"
state = "{folder}/state"
[grpc]
  address = "{folder}/sock"
[ttrpc]
  address = "{folder}/sock.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  disable_tcp_service = true
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "native"
"""


@dataclass
class Node:
    """A node as a folder, with what the installer left on it."""

    root: Path
    said: list[str] = field(default_factory=list)
    made: dict[str, Manifest] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.root / "var/lib/muster/images"

    def name(self, id: str) -> str:
        return f"{PLACE}/{id}@{self.made[id].digest}"

    def put(self, store: Store, id: str) -> None:
        self.made[id] = put_program(store, id, 50_000)
        store.name({self.name(id): self.made[id].descriptor})

    def plan(self) -> None:
        images = NodeImages(tuple(NodeImage(self.name(id), 1) for id in self.made))
        (self.root / "etc/muster").mkdir(parents=True)
        (self.root / "etc/muster/images.json").write_bytes(msgspec.json.encode(images))


@pytest.fixture
def node(tmp_path: Path) -> Node:
    node = Node(tmp_path / "node")
    store = create_store(node.folder)
    for id in ("pause", "coredns"):
        node.put(store, id)
    node.plan()
    node.put(store, "kube")
    return node


@dataclass(frozen=True)
class Containerd:
    """This machine with a containerd of the test's own, and another root."""

    root: Path
    socket: Path
    log: Path

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        words = list(argv)
        if words[0] == "ctr":
            words[1:1] = ["--address", str(self.socket)]
        return await ThisMachine().ask(words, deadline_s=deadline_s, feed=feed)

    def ctr(self, *words: str) -> str:
        argv = ["ctr", "--address", str(self.socket), "--namespace", "k8s.io", *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=DEADLINE_S).stdout

    def wait_for(self, text: str) -> str:
        end = time.monotonic() + DEADLINE_S
        while text not in (said := self.log.read_text()):
            assert time.monotonic() < end, f"{text!r} was not logged, but: {said[-3000:]}"
            time.sleep(0.05)
        return said


@contextmanager
def containerd(node: Node, folder: Path) -> Iterator[Containerd]:
    if os.geteuid() != 0 or shutil.which("containerd") is None or shutil.which("ctr") is None:
        pytest.skip("needs containerd and root")
    folder.mkdir()
    config, log = folder / "config.toml", folder / "log"
    config.write_text(CONFIG.format(folder=folder, pause=node.name("pause")))
    with (
        log.open("w") as file,
        subprocess.Popen(["containerd", "--config", config], stdout=file, stderr=file) as process,
    ):
        try:
            found = Containerd(node.root, folder / "sock", log)
            found.wait_for("containerd successfully booted")
            yield found
        finally:
            process.terminate()
            process.wait(DEADLINE_S)


def test_containerd_has_what_the_kubelet_will_ask_for(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTAINERD_SNAPSHOTTER", "native")
    with containerd(node, tmp_path / "c") as machine:
        asyncio.run(take_in(machine, node.said.append))
        names = machine.ctr("images", "list", "--quiet").splitlines()
        assert {node.name("pause"), node.name("coredns")} <= {*names}
        assert not any("/kube@" in name for name in names), "no container runs from it"
        listed = machine.ctr("images", "list", f"name=={node.name('coredns')}")
        assert str(node.made["coredns"].digest) in listed
        assert "io.cri-containerd.image=managed" in _labelled(machine, node.name("coredns"))
        checked = machine.ctr("images", "check", "--quiet")
        assert node.name("coredns") in checked.splitlines(), "all of it is there"
        assert len(machine.ctr("snapshots", "--snapshotter", "native", "list").splitlines()) > 2, "unpacked"
    assert node.said == ["containerd has all 2 images that were copied to this host"]
    assert not node.folder.exists()
    assert list((node.root / "var/lib/muster").iterdir()) == []


def _labelled(machine: Containerd, name: str) -> str:
    """The part of containerd that the kubelet speaks with hears of images a moment later."""
    end = time.monotonic() + DEADLINE_S
    while "managed" not in (said := machine.ctr("images", "list", f"name=={name}")):
        assert time.monotonic() < end, said
        time.sleep(0.05)
    return said


def run(node: Node, there: Sequence[str], failing: str = "") -> list[tuple[str, ...]]:
    """What a containerd was asked that has some images in the end."""

    def answer(words: tuple[str, ...]) -> Said | str | None:
        if failing and failing in words:
            return Said(1, "", "ctr: no luck")
        return "\n".join(there) if words[-1] == "--quiet" else ""

    machine = Recorded(node.root, answer)
    asyncio.run(take_in(machine, node.said.append))
    return machine.asked


def test_the_command_line(node: Node) -> None:
    asked = run(node, [node.name("pause"), node.name("coredns")])
    archive = str(node.root / "var/lib/muster/images.tar")
    importing = ("ctr", "--namespace", "k8s.io", "images", "import", archive)
    assert asked == [
        importing,
        ("ctr", "--namespace", "k8s.io", "images", "list", "--quiet"),
        ("sync", "--file-system", str(node.folder)),
    ]
    assert not node.folder.exists()


@pytest.mark.parametrize("what", ["damaged", "gone", "no store"])
def test_what_is_not_there_is_left_to_the_registry(node: Node, what: str) -> None:
    store = Store(node.folder)
    if what == "damaged":
        path = store.blobs.path(node.made["coredns"].layers[0].digest)
        path.write_bytes(bytes(path.stat().st_size))
    elif what == "gone":
        store.forget([node.name("coredns")])
    else:
        (node.folder / "oci-layout").unlink()
    asked = run(node, [node.name("pause")])
    assert node.said[-1].endswith(f"; its registry is asked for {node.name('coredns')}")
    assert len(node.said) == (2 if what == "no store" else 1)
    assert sum("import" in words for words in asked) == (0 if what == "no store" else 1)
    assert node.folder.exists(), "the next boot tries again"
    assert not (node.folder.parent / "images.tar").exists()


def test_a_containerd_that_does_not_take_them_is_named(node: Node) -> None:
    run(node, [], "import")
    assert node.said[0].startswith(
        "containerd did not take an image: ctr: no luck; its registry is asked for "
    )
    assert node.folder.exists()
