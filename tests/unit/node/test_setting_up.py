# SPDX-License-Identifier: Apache-2.0
"""The first host sets its cluster up: the order, what is waited for, and what is told of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from muster.errors import MusterError
from muster.model.setting_up import MARK, PLAN_FILE, Part, Ready, SetupPlan, Told
from muster.node.answers import NO_HEADERS, Answer
from muster.node.cluster_api import ClusterApi
from muster.node.setting_up import DEADLINE_S, SETUP_DONE, Desk, SettingUp, load_plan, load_progress
from tests.unit.node.test_readiness import daemon_set, deployment
from tests.unit.service.running import finish

TRAEFIK = Part(
    "traefik", ("60-crd.yaml", "61-proxy.yaml"), (Ready("daemon-set-ready", "traefik", "traefik"),)
)
DNS = Ready("deployment-available", "dns", "system")
PLAN = SetupPlan(
    nodes={"a": "role/control-plane", "b": "role/worker"},
    own=Part("kubernetes", ("00-rbac.yaml", "01-dns.yaml"), (DNS,)),
    manifests=("50-route.yaml", "51-map.yaml"),
    add_ons=(TRAEFIK,),
)


FILES = (*PLAN.own.files, *PLAN.manifests, *TRAEFIK.files)
KINDS = """{"items": [{"versions": [{"version": "v1", "resources": [
    {"resource": "configmaps", "scope": "Namespaced", "responseKind": {"kind": "ConfigMap"}}]}]}]}"""
LATE = Answer(404, b'{"message": "not found"}')
WRONG = Answer(400, b'{"message": "unknown field"}')


class Cluster:
    """The API of a cluster; time passes when somebody sleeps. A file has one object of its name."""

    def __init__(self, root: Path) -> None:
        self.root, self.now = root, 0.0
        self.asked: list[str] = []
        self.waits: list[str] = []
        self.can_wait = True
        self.ready_at, self.joined_at, self.dns_at = 20.0, 10.0, 12.0
        self.refuse: Callable[[str], Answer | None] = lambda name: None
        self.warnings: dict[str, tuple[str, ...]] = {}
        self.mark, self.mark_known_at = 404, 0.0
        self.pods = "{}"
        folder = root / "etc/kubernetes/setup/manifests"
        folder.mkdir(parents=True)
        (folder.parent / "kubeconfig").touch()
        for name in FILES:
            (folder / name).write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
        self.api = ClusterApi(self, folder, self.sleep)

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = NO_HEADERS
    ) -> Answer:
        place, _, name = path.partition("?")[0].rpartition("/")
        if method == "PATCH":
            return self._label(name, body) if place.endswith("/nodes") else self._apply(name)
        if place.endswith("/nodes"):
            self.waits.append(name)
            if not self.can_wait:
                return Answer(0, b"connection refused")
            return Answer(200 if name in self._nodes() else 404)
        if place.endswith("/configmaps"):
            return Answer(self.mark if self.now >= self.mark_known_at else 503, b"{}")
        answers = {
            "api": KINDS,
            "nodes": json.dumps({"items": [{"metadata": {"name": each}} for each in self._nodes()]}),
            "pods": self.pods,
            "dns": deployment(2 if self.now >= self.dns_at else 1, 2, 3),
            "traefik": daemon_set(2 if self.now >= self.ready_at else 1),
        }
        return Answer(200, answers[name].encode())

    def _nodes(self) -> list[str]:
        return ["a", "b"] if self.now >= self.joined_at else ["a"]

    def _label(self, name: str, body: bytes) -> Answer:
        self.asked.append(f"label {name} {''.join(json.loads(body)['metadata']['labels'])}")
        return Answer(200)

    def _apply(self, name: str) -> Answer:
        refused = self.refuse(name)
        self.asked.append(f"apply {name}" + (": refused" if refused else ""))
        return refused or Answer(201, warnings=self.warnings.get(name, ()))

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def set_up(cluster: Cluster, plan: SetupPlan = PLAN) -> tuple[dict[str, Told], list[str]]:
    said: list[str] = []
    desk = Desk(cluster.root, cluster.api, said.append, cluster.sleep, lambda: cluster.now)
    finish(SettingUp(plan, desk).run())
    progress = load_progress(cluster.root)
    assert progress.done
    assert (cluster.root / SETUP_DONE).exists()
    assert not (cluster.root / "etc/kubernetes/setup/kubeconfig").exists()
    return dict(progress.parts), said


def list_waiting_pod(name: str, reason: str, message: str) -> str:
    state = {"waiting": {"reason": reason, "message": message}}
    pod = {"metadata": {"name": name}, "status": {"containerStatuses": [{"state": state}]}}
    return json.dumps({"items": [pod]})


def test_all_is_done_in_order_and_waited_for(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    parts, said = set_up(cluster)
    assert cluster.asked == [
        "apply 00-rbac.yaml",
        "apply 01-dns.yaml",
        "apply 50-route.yaml",
        "apply 51-map.yaml",
        "label a role/control-plane",
        "label b role/worker",
        "apply 60-crd.yaml",
        "apply 61-proxy.yaml",
        f"apply {MARK}",
    ]
    assert {part.status for part in parts.values()} == {"available"}
    assert said == [
        "manifests: all of them are applied",
        "kubernetes: hosts that have not joined yet: b",
        "kubernetes: dns: 1 of 2 pods ready",
        "kubernetes: all of it is set up",
        "traefik: 1 of 2 pods ready",
        "traefik: it is ready",
    ]


def test_warnings_of_the_api_about_manifests_are_reported(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    text = 'would violate PodSecurity "restricted:latest": privileged'
    cluster.warnings = {"01-dns.yaml": ("own part",), "50-route.yaml": (text,)}
    late = [LATE]
    cluster.refuse = lambda name: late.pop() if name == "51-map.yaml" and late else None
    parts, said = set_up(cluster)
    about = "the API warns about ConfigMap/50-route.yaml: "
    assert [line for line in said if "warns" in line] == [
        f"manifests: 50-route.yaml: {about}{text}",
        f"manifests: all of them are applied; {about}see `journalctl -u muster-cluster-setup`",
    ]
    assert parts["manifests"].status == "available"
    assert about in parts["manifests"].info


def test_nodes_of_one_role_are_labelled_one_after_the_other(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.joined_at = 0.0
    nodes = {"a": "role/control-plane", "b": "role/control-plane"}
    set_up(cluster, SetupPlan(nodes=nodes, own=Part("kubernetes", ())))
    assert cluster.asked == ["label a role/control-plane", "label b role/control-plane", f"apply {MARK}"]


def test_a_node_is_waited_for_and_asked_for_again_where_that_fails(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "waits")
    cluster.joined_at = cluster.dns_at = cluster.ready_at = 7.0
    set_up(cluster)
    assert (cluster.waits, cluster.now) == (["b"] * 15, 7.0)
    cluster = Cluster(tmp_path / "asks")
    cluster.joined_at = cluster.dns_at = cluster.ready_at = 7.0
    cluster.can_wait = False
    set_up(cluster)
    assert (cluster.waits, cluster.now) == (["b", "b"], 10.0)


def test_a_manifest_whose_kind_comes_with_an_add_on_is_applied_after_it(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.refuse = lambda name: LATE if name == "50-route.yaml" and cluster.now < 20 else None
    parts, said = set_up(cluster)
    assert parts["manifests"] == Told("available", "all of them are applied")
    assert "manifests: 50-route.yaml is not accepted: ConfigMap/50-route.yaml: not found" in said
    route = cluster.asked.index("apply 50-route.yaml")
    assert cluster.asked.index("apply 51-map.yaml") < cluster.asked.index("apply 61-proxy.yaml") < route


def test_an_add_on_whose_kinds_are_not_there_at_once_is_tried_again(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.refuse = lambda name: LATE if name == "61-proxy.yaml" and cluster.now < 30 else None
    parts, _ = set_up(cluster)
    assert parts["traefik"].status == "available"
    assert cluster.asked.count("apply 60-crd.yaml") == 1
    assert "apply 61-proxy.yaml: refused" in cluster.asked


def test_an_add_on_that_does_not_become_ready_ends_with_its_reason(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.ready_at = 10 * DEADLINE_S
    cluster.pods = list_waiting_pod("traefik-x", "ImagePullBackOff", "no such image")
    parts, _ = set_up(cluster)
    assert parts["kubernetes"].status == "available"
    assert parts["traefik"] == Told(
        "failed",
        "not ready after 30 minutes: pod traefik-x: ImagePullBackOff: no such image; "
        "look with `kubectl --namespace traefik describe pods`",
    )


@pytest.mark.parametrize(("refused", "waits"), [(WRONG, False), (LATE, True)])
def test_a_manifest_that_nobody_takes_ends_with_its_reason(
    tmp_path: Path, refused: Answer, *, waits: bool
) -> None:
    cluster = Cluster(tmp_path)
    cluster.refuse = lambda name: refused if name == "50-route.yaml" else None
    parts, _ = set_up(cluster)
    assert parts["manifests"].status == "failed"
    why = f"50-route.yaml is not accepted: ConfigMap/50-route.yaml: {refused.words}"
    assert parts["manifests"].info.startswith(f"{why}; mend it")
    assert (cluster.now >= DEADLINE_S) is waits
    assert parts["traefik"].status == "available"


def test_a_manifest_that_nobody_takes_does_not_end_the_wait_for_others(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    refused = {"50-route.yaml": LATE, "51-map.yaml": WRONG}
    cluster.refuse = lambda name: refused.get(name) if name != "50-route.yaml" or cluster.now < 500 else None
    parts, _ = set_up(cluster)
    assert "apply 50-route.yaml" in cluster.asked
    assert parts["manifests"].info.startswith("51-map.yaml is not accepted: ConfigMap/51-map.yaml: unknown")
    assert 500 <= cluster.now < DEADLINE_S


def test_who_hears_nothing_asks_for_nothing_more_until_later(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    silence = Answer(0, b"no answer in time")
    cluster.refuse = lambda name: silence if name == "50-route.yaml" and cluster.now < 20 else None
    parts, _ = set_up(cluster)
    first = cluster.asked.index("apply 50-route.yaml: refused")
    assert cluster.asked[first + 1] != "apply 51-map.yaml"
    assert parts["manifests"].status == "available"


def test_the_clusters_own_parts_are_tried_until_they_are_accepted(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.refuse = lambda name: WRONG if name == "01-dns.yaml" and cluster.now < 2 * DEADLINE_S else None
    parts, said = set_up(cluster)
    assert said[0] == "kubernetes: 01-dns.yaml is not accepted: ConfigMap/01-dns.yaml: unknown field"
    assert parts["kubernetes"].status == "available"


def test_a_cluster_is_not_set_up_before_its_own_parts_run(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.dns_at = 2 * DEADLINE_S
    cluster.pods = list_waiting_pod("dns-x", "ErrImagePull", "no such image")
    parts, said = set_up(cluster)
    reason = said.index("kubernetes: pod dns-x: ErrImagePull: no such image")
    assert reason < said.index("kubernetes: all of it is set up")
    assert cluster.now >= cluster.dns_at
    assert parts["kubernetes"].status == "available"


@pytest.mark.parametrize(("mark", "labels"), [(200, True), (401, False)])
def test_a_first_host_that_is_written_again_changes_nothing(
    tmp_path: Path, mark: int, *, labels: bool
) -> None:
    cluster = Cluster(tmp_path)
    cluster.mark = mark
    parts, _ = set_up(cluster)
    assert bool(cluster.asked) is labels
    assert all(each.startswith("label") for each in cluster.asked)
    assert parts.keys() == {"kubernetes", "manifests", "traefik"}


def test_a_cluster_that_does_not_say_whether_it_was_set_up_is_asked_again(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.mark, cluster.mark_known_at = 200, 60.0
    _, said = set_up(cluster)
    assert said[0].startswith("kubernetes: whether the cluster was set up before is not known: ")
    assert all(each.startswith("label") for each in cluster.asked)


def test_what_failed_is_not_forgotten_when_it_is_killed_at_the_end(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.ready_at = 10 * DEADLINE_S
    failed = set_up(cluster)[0]["traefik"]
    cluster.mark = 200
    assert set_up(cluster)[0]["traefik"] == failed


def test_the_plan_is_read(tmp_path: Path) -> None:
    with pytest.raises(MusterError, match="does not say how the cluster is set up"):
        load_plan(tmp_path)
    path = tmp_path / PLAN_FILE.lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_bytes(msgspec.json.encode(PLAN))
    assert load_plan(tmp_path) == PLAN
