# SPDX-License-Identifier: Apache-2.0
"""A cluster is set up by its real API: manifests, kinds that come later, roles of nodes, the end of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from muster.model.setting_up import MARK, PLAN_FILE, Ready
from muster.node.answers import Refusal
from muster.node.api_line import ApiLine
from muster.node.cluster_api import ClusterApi
from muster.node.readiness import find_pod_trouble
from muster.release.node.payload import plan_cluster
from tests.clusters import RELEASE, SINGLE, authorities
from tests.component.kube_api import KubeApi, Pki
from tests.seeds import seeded

_PATIENCE_S = 180.0
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  creationTimestamp: null
  name: routes.example.com
spec:
  group: example.com
  names: {kind: Route, plural: routes}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {to: {type: string}}}}
---
---
apiVersion: example.com/v1
kind: Route
metadata: {name: home}
spec: {to: 22:80}
"""
LIST = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
- {apiVersion: v1, kind: Node, metadata: {name: node-a}}
- apiVersion: v1
  kind: ConfigMapList
  items:
  - {metadata: {name: one, namespace: shop}, data: {day: 2026-03-01}}
  - {metadata: {name: two}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "shop:reader"}, rules: []}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: slow}, provisioner: example.com/none}
"""
WRONG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: wrong}
dta: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after}
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: 4711081512}
"""
INVALID = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: invalid}
data: {"a b": c}
"""
ON_THE_HOST = """\
apiVersion: v1
kind: Namespace
metadata: {name: guarded, labels: {pod-security.kubernetes.io/warn: restricted}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: root, namespace: guarded}
spec:
  selector: {matchLabels: {app: root}}
  template:
    metadata: {labels: {app: root}}
    spec: {hostNetwork: true, containers: [{name: a, image: b}]}
"""
FILES = {
    "guarded.yaml": ON_THE_HOST,
    "route.yaml": DEFINITION,
    "list.yaml": LIST,
    "wrong.yaml": WRONG,
    "invalid.yaml": INVALID,
    "broken.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: before}\n---\na: [",
    "secret.yaml": SECRET,
    "nowhere.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: absent}",
    "unknown.yaml": "apiVersion: example.com/v7\nkind: Nothing\nmetadata: {name: x}",
}


class Site:
    """The API, and who sets the cluster up."""

    def __init__(self, kube: KubeApi, line: ApiLine, folder: Path) -> None:
        self.kube, self.line = kube, line
        self.cluster = ClusterApi(line, folder, asyncio.sleep)
        for name, text in FILES.items():
            (folder / name).write_text(text)
        own = plan_cluster(RELEASE, replace(SINGLE, add_ons=()), authorities(), seeded("hosts"))["node1"]
        start = PLAN_FILE.replace("plan.json", "manifests/")
        files = {each.path.removeprefix(start): each.data for each in own.files if start in each.path}
        for name, data in files.items():
            (folder / name).write_bytes(data)
        self.own = tuple(files)

    async def get(self, path: str) -> dict[str, object]:
        answer = await self.line.request("GET", path)
        assert answer.is_ok, answer.words
        found: dict[str, object] = json.loads(answer.body)
        return found

    async def wait_until_ready(self) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not (answer := await self.line.request("GET", "/readyz")).is_ok:
            assert time.monotonic() < end, f"{answer.words}\n{self.kube.log}"
            await asyncio.sleep(0.2)


@pytest.fixture
def site(tmp_path: Path, kube: Path) -> Iterator[Site]:
    folder = tmp_path / "manifests"
    folder.mkdir()
    with (
        contextlib.closing(KubeApi(tmp_path, kube)) as api,
        contextlib.closing(ApiLine(api.kubeconfig)) as line,
    ):
        api.start_etcd()
        api.start()
        yield Site(api, line, folder)


def test_a_cluster_is_set_up_by_its_api(site: Site) -> None:
    asyncio.run(_set_up(site))


async def _set_up(site: Site) -> None:
    await site.wait_until_ready()
    assert await site.cluster.find_mark(MARK) == "absent"
    assert await site.cluster.apply(*site.own) is None
    assert len(site.own) == 4
    await _apply_files(site)
    await _apply_workload(site.cluster)
    await _look(site)
    await _mark(site)
    await _come_too_late(site)


async def _apply_files(site: Site) -> None:
    apply = site.cluster.apply
    assert await apply("list.yaml", "route.yaml") is None
    assert await apply("list.yaml", "route.yaml") is None, "all of it is wanted state"
    wrong = await apply("wrong.yaml")
    assert wrong is not None
    assert wrong.is_final, wrong.words
    assert wrong.words.startswith("wrong.yaml is not accepted: ConfigMap/wrong: ")
    assert ".dta: field not declared in schema" in wrong.words
    both = await apply("broken.yaml", "wrong.yaml")
    assert both is not None
    assert both.words.startswith("broken.yaml is not accepted: it is no YAML in line 6: ")
    assert both.words.endswith(f"; {wrong.words}")
    for name in ("after", "before"):
        await site.get(f"/api/v1/namespaces/default/configmaps/{name}")
    invalid = await apply("invalid.yaml")
    assert invalid is not None
    assert invalid.is_final
    assert 'ConfigMap/invalid: ConfigMap "invalid" is invalid: data[a b]: Invalid value' in invalid.words
    secret = await apply("secret.yaml")
    assert secret is not None
    assert secret.words.startswith("secret.yaml is not accepted: Secret/login: the API answers with status ")
    assert secret.is_final
    assert "4711081512" not in secret.words
    nowhere = 'nowhere.yaml is not accepted: ConfigMap/x: namespaces "absent" not found'
    assert await apply("nowhere.yaml") == Refusal(nowhere)
    unknown = "no kind Nothing of example.com/v7 is known in the cluster"
    assert await apply("unknown.yaml") == Refusal(f"unknown.yaml is not accepted: Nothing/x: {unknown}")


async def _apply_workload(cluster: ClusterApi) -> None:
    cluster.take_warnings()
    assert await cluster.apply("guarded.yaml") is None
    warnings = cluster.take_warnings()
    assert [*warnings] == ["DaemonSet/root"]
    (text,) = warnings["DaemonSet/root"]
    assert text.startswith('would violate PodSecurity "restricted:latest": host namespaces (')


async def _look(site: Site) -> None:
    route = await site.get("/apis/example.com/v1/namespaces/default/routes/home")
    assert route["spec"] == {"to": "22:80"}
    one = await site.get("/api/v1/namespaces/shop/configmaps/one")
    assert one["data"] == {"day": "2026-03-01"}
    await site.get("/api/v1/namespaces/default/configmaps/two")
    assert (await site.cluster.judge(Ready("storage-class-exists", "slow"))).is_ready
    words = (await site.cluster.judge(Ready("deployment-available", "coredns", "kube-system"))).words
    assert words == "0 of 1 pods ready"
    words = (await site.cluster.judge(Ready("daemon-set-ready", "x", "shop"))).words
    assert words == "x is not there yet"
    assert (await site.cluster.judge(Ready("api-service-available", "v1.apps"))).is_ready
    assert find_pod_trouble(await site.cluster.pods("kube-system")) == ""


async def _come_too_late(site: Site) -> None:
    """With a login that is not believed any more."""
    api = site.kube
    other = Pki(api.pki.folder / "other")
    kubeconfig = other.write_kubeconfig(other.folder / "kubeconfig", api.server, api.pki.bundle)
    with contextlib.closing(ApiLine(kubeconfig)) as line:
        assert await ClusterApi(line, api.pki.folder, asyncio.sleep).find_mark(MARK) == "locked out"


async def _mark(site: Site) -> None:
    cluster = site.cluster
    assert await cluster.node_names() == {"node-a"}
    assert await cluster.await_node("node-a")
    site.kube.stop()
    gone = await cluster.label("node-role.kubernetes.io/worker", "node-a")
    assert gone is not None
    assert gone.words.startswith("node-a: the role cannot be noted: no connection: ")
    assert not gone.is_final
    assert (await cluster.judge(Ready("storage-class-exists", "slow"))).words.startswith("no connection: ")
    site.kube.start()
    await site.wait_until_ready()
    await cluster.node_names()
    site.kube.stop()
    site.kube.start()
    end = time.monotonic() + _PATIENCE_S
    while await cluster.set_mark(MARK) is not None:
        assert time.monotonic() < end, site.kube.log
        await asyncio.sleep(0.2)
    assert await cluster.find_mark(MARK) == "there"
    assert await cluster.label("node-role.kubernetes.io/worker", "node-a") is None
    missing = await cluster.label("node-role.kubernetes.io/worker", "node-a", "node-b")
    assert missing == Refusal('node-b: the role cannot be noted: nodes "node-b" not found')
    node = await site.get("/api/v1/nodes/node-a")
    assert '"node-role.kubernetes.io/worker": ""' in json.dumps(node)
