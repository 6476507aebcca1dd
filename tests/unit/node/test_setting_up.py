# SPDX-License-Identifier: Apache-2.0
"""The first host sets its cluster up: the order, what is waited for, and what is told of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from muster.errors import MusterError
from muster.model.setting_up import PLAN_FILE, Part, Ready, SetupPlan, Told
from muster.node.kubectl import Kubectl
from muster.node.setting_up import DEADLINE_S, SETUP_DONE, Desk, SettingUp, load_plan, load_progress
from muster.run import Argument, Said
from tests.unit.node.test_readiness import daemon_set
from tests.unit.service.running import finish

TRAEFIK = Part(
    "traefik", ("60-crd.yaml", "61-proxy.yaml"), (Ready("daemon-set-ready", "traefik", "traefik"),)
)
PLAN = SetupPlan(
    nodes={"a": "role/control-plane", "b": "role/worker"},
    own=Part("kubernetes", ("00-rbac.yaml", "01-dns.yaml")),
    manifests=("50-route.yaml", "51-map.yaml"),
    add_ons=(TRAEFIK,),
)


class Cluster:
    """A cluster that kubectl is asked about; time passes when somebody sleeps."""

    def __init__(self, root: Path) -> None:
        self.root, self.now = root, 0.0
        self.asked: list[str] = []
        self.waits: list[str] = []
        self.can_wait = True
        self.ready_at, self.joined_at = 20.0, 10.0
        self.refuse: Callable[[str], str] = lambda name: ""
        self.mark = Said(0, "", "")
        self.pods = "{}"
        (root / "etc/kubernetes/setup").mkdir(parents=True)
        (root / "etc/kubernetes/setup/kubeconfig").touch()

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        words = [str(each) for each in argv[2:]]
        if words[0] == "apply":
            files = [word.rpartition("/")[2] for word in words if word.startswith("--filename=")]
            return self._apply(("mark",) if feed else tuple(files))
        if words[0] == "label":
            self.asked.append(" ".join(words))
        if words[0] == "wait":
            self.waits.append(words[2])
            if not self.can_wait:
                return Said(1, "", "connection refused")
            self.now = max(self.now, self.joined_at)
        nodes = "node/a\nnode/b\n" if self.now >= self.joined_at else "node/a\n"
        answers = {
            "nodes": Said(0, nodes, ""),
            "configmap": self.mark,
            "pods": Said(0, self.pods, ""),
            "daemonsets.apps": Said(0, daemon_set(2 if self.now >= self.ready_at else 1), ""),
        }
        return answers.get(words[1], Said(0, "", ""))

    def _apply(self, names: Sequence[str]) -> Said:
        why = next(filter(None, map(self.refuse, names)), "")
        self.asked.append(f"apply {' '.join(names)}" + (": refused" if why else ""))
        return Said(1, "", why) if why else Said(0, "", "")

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def set_up(cluster: Cluster, plan: SetupPlan = PLAN) -> tuple[dict[str, Told], list[str]]:
    said: list[str] = []
    desk = Desk(cluster.root, Kubectl(cluster), said.append, cluster.sleep, lambda: cluster.now)
    finish(SettingUp(plan, desk).run())
    progress = load_progress(cluster.root)
    assert progress.done
    assert (cluster.root / SETUP_DONE).exists()
    assert not (cluster.root / "etc/kubernetes/setup/kubeconfig").exists()
    return dict(progress.parts), said


def test_all_is_done_in_order_and_waited_for(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    parts, said = set_up(cluster)
    assert cluster.asked == [
        "apply 00-rbac.yaml 01-dns.yaml",
        "apply 50-route.yaml",
        "apply 51-map.yaml",
        "label --overwrite node a role/control-plane=",
        "label --overwrite node b role/worker=",
        "apply 60-crd.yaml",
        "apply 61-proxy.yaml",
        "apply mark",
    ]
    assert {part.status for part in parts.values()} == {"available"}
    assert said == [
        "manifests: all of them are applied",
        "kubernetes: hosts that have not joined yet: b",
        "kubernetes: all of it is set up",
        "traefik: 1 of 2 pods ready",
        "traefik: it is ready",
    ]


def test_nodes_of_one_role_are_labelled_together(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.joined_at = 0.0
    nodes = {"a": "role/control-plane", "b": "role/control-plane"}
    set_up(cluster, SetupPlan(nodes=nodes, own=Part("kubernetes", ())))
    assert cluster.asked == ["label --overwrite node a b role/control-plane=", "apply mark"]


def test_a_node_is_waited_for_and_asked_for_again_where_that_fails(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "waits")
    cluster.joined_at = cluster.ready_at = 7.0
    set_up(cluster)
    assert (cluster.waits, cluster.now) == (["node/b"], 7.0)
    cluster = Cluster(tmp_path / "asks")
    cluster.joined_at = cluster.ready_at = 7.0
    cluster.can_wait = False
    set_up(cluster)
    assert (cluster.waits, cluster.now) == (["node/b", "node/b"], 10.0)


def test_a_manifest_whose_kind_comes_with_an_add_on_is_applied_after_it(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    late = "no matches for kind Route"
    cluster.refuse = lambda name: late if name == "50-route.yaml" and cluster.now < 20 else ""
    parts, said = set_up(cluster)
    assert parts["manifests"] == Told("available", "all of them are applied")
    assert f"manifests: 50-route.yaml is not accepted: {late}" in said
    route = cluster.asked.index("apply 50-route.yaml")
    assert cluster.asked.index("apply 51-map.yaml") < cluster.asked.index("apply 61-proxy.yaml") < route


def test_an_add_on_whose_kinds_are_not_there_at_once_is_tried_again(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.refuse = lambda name: (
        "no matches for kind" if name == "61-proxy.yaml" and cluster.now < 30 else ""
    )
    parts, _ = set_up(cluster)
    assert parts["traefik"].status == "available"
    assert cluster.asked.count("apply 60-crd.yaml") == 1
    assert "apply 61-proxy.yaml: refused" in cluster.asked


def test_an_add_on_that_does_not_become_ready_ends_with_its_reason(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.ready_at = 10 * DEADLINE_S
    waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
    pod = {
        "metadata": {"name": "traefik-x"},
        "status": {"containerStatuses": [{"state": {"waiting": waiting}}]},
    }
    cluster.pods = json.dumps({"items": [pod]})
    parts, _ = set_up(cluster)
    assert parts["kubernetes"].status == "available"
    assert parts["traefik"] == Told(
        "failed",
        "not ready after 30 minutes: pod traefik-x: ImagePullBackOff: no such image; "
        "look with `kubectl --namespace traefik describe pods`",
    )


@pytest.mark.parametrize(
    ("why", "waits"), [("error parsing 50-route.yaml", False), ("no matches for kind Route", True)]
)
def test_a_manifest_that_nobody_takes_ends_with_its_reason(tmp_path: Path, why: str, *, waits: bool) -> None:
    cluster = Cluster(tmp_path)
    cluster.refuse = lambda name: why if name == "50-route.yaml" else ""
    parts, _ = set_up(cluster)
    assert parts["manifests"].status == "failed"
    assert parts["manifests"].info.startswith(f"50-route.yaml is not accepted: {why}; mend it")
    assert (cluster.now >= DEADLINE_S) is waits
    assert parts["traefik"].status == "available"


def test_the_clusters_own_parts_are_tried_until_they_are_accepted(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.refuse = lambda name: "refused" if name == "01-dns.yaml" and cluster.now < 2 * DEADLINE_S else ""
    parts, said = set_up(cluster)
    assert said[0] == "kubernetes: 00-rbac.yaml, 01-dns.yaml are not accepted: refused"
    assert parts["kubernetes"].status == "available"


@pytest.mark.parametrize(
    ("mark", "labels"),
    [(Said(0, "configmap/x", ""), True), (Said(1, "", "You must be logged in (Unauthorized)"), False)],
)
def test_a_first_host_that_is_written_again_changes_nothing(
    tmp_path: Path, mark: Said, *, labels: bool
) -> None:
    cluster = Cluster(tmp_path)
    cluster.mark = mark
    parts, _ = set_up(cluster)
    assert bool(cluster.asked) is labels
    assert all(each.startswith("label") for each in cluster.asked)
    assert parts.keys() == {"kubernetes", "manifests", "traefik"}


def test_what_failed_is_not_forgotten_when_it_is_killed_at_the_end(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.ready_at = 10 * DEADLINE_S
    failed = set_up(cluster)[0]["traefik"]
    cluster.mark = Said(0, "configmap/x", "")
    assert set_up(cluster)[0]["traefik"] == failed


def test_the_plan_is_read(tmp_path: Path) -> None:
    with pytest.raises(MusterError, match="does not say how the cluster is set up"):
        load_plan(tmp_path)
    path = tmp_path / PLAN_FILE.lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_bytes(msgspec.json.encode(PLAN))
    assert load_plan(tmp_path) == PLAN
