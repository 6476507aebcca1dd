# SPDX-License-Identifier: Apache-2.0
"""What a host tells the service from its disk, and what it took along to be able to."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import msgspec
import pytest

from muster.client.snapshot import KubernetesSight, Node
from muster.errors import ExternalError, MusterError
from muster.files import save_file
from muster.model.setting_up import SetupProgress, Told
from muster.model.wire.enums import FinalizingStage, HostStage
from muster.model.wire.host import Host, HostProgressInfo
from muster.node.config import add_join
from muster.node.joining import AUTHORITY, FILE, Join, Sight, forget, join, load_join
from muster.node.others import is_control_plane_up, missing_for_leaving
from muster.node.setting_up import PROGRESS
from tests.unit.service.running import finish

FACTS = Join("https://192.0.2.10:8090", "ie", "h", "c", "token", "bootstrap", alone=True)


AWAY = KubernetesSight(words="connection refused")


def node(*, ready: bool) -> KubernetesSight:
    return KubernetesSight(is_ready=True, nodes=(Node("node1", ready),))


class Cluster:
    """Says one thing after another of a node; the last again and again."""

    def __init__(self, *sights: KubernetesSight) -> None:
        self._sights = list(sights)

    async def look(self) -> KubernetesSight:
        return self._sights.pop(0) if len(self._sights) > 1 else self._sights[0]


class Ear:
    def __init__(self) -> None:
        self.heard: list[str] = []
        self.refusals = 1

    async def stage(self, stage: HostStage, info: str = "") -> None:
        self.heard.append(f"{stage}: {info}" if info else stage)

    async def part(self, id: str, told: Told) -> None:
        self.heard.append(f"{id} is {told.status}: {told.info}")

    async def finalizing(self, stage: FinalizingStage) -> bool:
        self.refusals -= 1
        if self.refusals < 0:
            self.heard.append(stage)
        return self.refusals < 0


WAITING = {"kubernetes": Told("progressing", "hosts that have not joined yet: b")}
ADDING = {
    "kubernetes": Told("available", "all of it is set up"),
    "traefik": Told("progressing", "1 of 2 pods ready"),
}
ADDED = {**ADDING, "traefik": Told("failed", "not ready after 30 minutes")}
SETTING_UP = {
    30: SetupProgress(WAITING),
    20: SetupProgress(ADDING),
    10: SetupProgress(ADDED, done=True),
}
"""How far the first host is with the cluster, by how often whoever looks will still sleep."""


def tell(facts: Join, root: Path, *sights: KubernetesSight) -> list[str]:
    ear, left = Ear(), 50

    async def sleep(_: float) -> None:
        nonlocal left
        left -= 1
        if left in SETTING_UP and (root / "etc/kubernetes/setup").is_dir():
            save_file(root / PROGRESS, msgspec.json.encode(SETTING_UP[left]))
        assert left, ear.heard

    async def trouble() -> str:
        return "" if left < 25 else "containerd does not stay"

    finish(join(facts, root, Sight(Cluster(*sights).look, trouble), ear, sleep))
    return ear.heard


def test_stages_are_told_once_and_in_order(tmp_path: Path) -> None:
    unready, ready = node(ready=False), node(ready=True)
    assert tell(FACTS, tmp_path, AWAY, AWAY, unready, unready, ready) == ["Joined", "Done"]


def test_what_is_in_the_way_is_told_once_and_when_it_is_over(tmp_path: Path) -> None:
    heard = tell(FACTS, tmp_path, *[AWAY] * 42, node(ready=True))
    assert heard == ["Rebooting: containerd does not stay", "Rebooting", "Joined", "Done"]


def test_a_host_among_others_tells_that_it_is_configured_and_skips_no_stage(tmp_path: Path) -> None:
    facts = Join("u", "ie", "h", "c", "token", "worker", alone=False)
    assert tell(facts, tmp_path, node(ready=True)) == ["Configuring", "Joined", "Done"]


def test_the_host_that_sets_the_cluster_up_tells_how_far_each_part_is(tmp_path: Path) -> None:
    (tmp_path / "etc/kubernetes/setup").mkdir(parents=True)
    assert tell(FACTS, tmp_path, node(ready=True)) == [
        "Joined",
        "Done",
        "kubernetes is progressing: hosts that have not joined yet: b",
        "Waiting for cluster operators",
        "kubernetes is available: all of it is set up",
        "traefik is progressing: 1 of 2 pods ready",
        "Waiting for olm operators csv",
        "traefik is failed: not ready after 30 minutes",
    ]


def test_what_was_taken_along_comes_back_and_is_forgotten(tmp_path: Path) -> None:
    config = {
        "ignition": {"version": "3.4.0"},
        "storage": {"files": [{"path": "/etc/hostname"}]},
        "passwd": {},
    }
    made = json.loads(add_join(json.dumps(config).encode(), FACTS, "PEM"))
    assert (
        add_join(json.dumps(made).encode(), FACTS, "PEM") == json.dumps(made, separators=(",", ":")).encode()
    )
    assert made["storage"]["files"][0] == {"path": "/etc/hostname"}
    assert made["passwd"] == {}
    for file in made["storage"]["files"][1:]:
        assert file["mode"] == 0o600
        path = tmp_path / file["path"].lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(file["contents"]["source"].partition(",")[2]))
    assert load_join(tmp_path) == FACTS
    assert (tmp_path / AUTHORITY).read_text() == "PEM"
    forget(tmp_path)
    assert not (tmp_path / FILE).exists()
    with pytest.raises(MusterError, match="does not say what this node is"):
        load_join(tmp_path)


@pytest.mark.parametrize("config", [b"", b"[]", b'{"storage": {"files": [{}]}}', b'{"storage": [1]}'])
def test_what_is_no_config_is_refused(config: bytes) -> None:
    with pytest.raises(ExternalError, match="not an Ignition config"):
        add_join(config, FACTS, "PEM")


def host(id: str, role: str, status: str, stage: str | None = None, *, bootstrap: bool = False) -> Host:
    progress = None if stage is None else HostProgressInfo(current_stage=stage)  # type: ignore[arg-type]
    return Host(
        id=id,
        href="",
        kind="Host",
        status=status,  # type: ignore[arg-type]
        status_info="",
        role=role,  # type: ignore[arg-type]
        progress=progress,
        bootstrap=bootstrap,
        requested_hostname=f"name-{id}",
    )


def test_the_rendezvous_host_leaves_when_the_control_plane_stands_and_all_others_are_on_their_disks() -> None:
    hosts = [
        host("a", "master", "installing-in-progress", "Waiting for control plane", bootstrap=True),
        host("b", "master", "installed", "Done"),
        host("c", "master", "installing-in-progress", "Rebooting"),
        host("d", "worker", "installing-in-progress", "Rebooting"),
        host("e", "worker", "installing-in-progress", "Writing image to disk"),
    ]
    assert missing_for_leaving(hosts, "a") == ("name-c", "name-e")
    assert missing_for_leaving([hosts[0], hosts[1], hosts[3]], "a") == ()


def test_workers_go_on_when_all_but_the_first_of_the_control_plane_are_there() -> None:
    first = host("a", "master", "installing-in-progress", bootstrap=True)
    assert is_control_plane_up([first, host("b", "master", "installed"), host("w", "worker", "installing")])
    assert not is_control_plane_up([first, host("b", "arbiter", "installing-in-progress")])
