# SPDX-License-Identifier: Apache-2.0
"""A site whose hosts become a cluster of their own accord, and who judges it."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from muster.config.document.folder import Directory
from muster.config.load import load_site
from muster.config.resolve import resolve_site
from muster.model.host import Role
from muster.model.plan import Plan
from muster.model.site import Environment
from muster.release.look import choose_release, load_release
from muster.release.node.tuning import load_tuning
from muster.release.store.store import open_store
from tests.component.live import run
from tests.lab.rehearsal import Rehearsal, create, save_yaml

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
JUDGE = Path(__file__).with_name("judge.py")
JUDGEMENT = "cluster"
"""What the check is called that says whether all of a cluster is well."""
OUTSIDE = Path(__file__).with_name("outside.py")
MEMORY_MIB = 3072
_DNS = 10
"""Which address of the services' network the cluster's name server has."""
MIRRORS = """\
[[registry]]
prefix = "muster.local"
location = "muster.local"
blocked = true
[[registry.mirror]]
location = "{registry}"
insecure = true
"""
PROBE = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: probe
  namespace: kube-system
data:
  Corefile: |
    .:1053 {{
        health :8080
    }}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: probe
  namespace: kube-system
spec:
  selector:
    matchLabels: {{app: probe}}
  template:
    metadata:
      labels: {{app: probe}}
    spec:
      tolerations: [{{operator: Exists}}]
      containers:
      - name: probe
        image: "{image}"
        args: ["-conf", "/etc/coredns/Corefile"]
        volumeMounts: [{{name: config, mountPath: /etc/coredns}}]
      volumes: [{{name: config, configMap: {{name: probe}}}}]
"""
"""A pod on every host that answers."""


@dataclass(frozen=True)
class Site:
    """A site with its ISO, and the key that opens its hosts."""

    folder: Path
    key: Path


Change: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any]]
"""What a file of an example is turned into."""


def edit_yaml(path: Path, change: Change) -> None:
    save_yaml(path, change(yaml.safe_load(path.read_text("utf-8"))))


@dataclass(frozen=True)
class Stage:
    """What sites are made with: a desk for their files, the machine OS, a release in a store."""

    desk: Path
    base: Path
    store: Path

    def lay(self, example: str, leg: str = "") -> Path:
        """The files of an example, with a registry at the lab's leg; without one there is nothing."""
        folder = self.desk / example
        shutil.copytree(EXAMPLES / example, folder)
        room = {"services": ["dns"], "registryStore": str(self.store)} if leg else {"services": []}
        save_yaml(folder / "lab.yaml", {**room, "memoryMiB": MEMORY_MIB})
        if leg:
            (folder / "mirror").mkdir(exist_ok=True)
            (folder / "mirror/registries.conf").write_text(MIRRORS.format(registry=_registry(leg)))
        return folder

    def build(self, example: str, leg: str = "", changes: Mapping[str, Change] | None = None) -> Site:
        """An example with a registry at the lab's leg, pods of our own and our key; and its ISO.

        Without a leg the ISO has the release on it.
        """
        folder = self.lay(example, leg)
        (folder / "openshift").mkdir(exist_ok=True)
        (folder / "openshift/probe.yaml").write_text(PROBE.format(image=self._image("coredns")))
        key = self.desk / "key"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        ours = {"sshKey": key.with_suffix(".pub").read_text().strip()}
        if leg:
            ours["pullSecret"] = json.dumps({"auths": {_registry(leg): {"auth": "bXVzdGVyOmxhYg=="}}})
        edit_yaml(folder / "install-config.yaml", lambda body: {**body, **ours})
        for name, change in (changes or {}).items():
            edit_yaml(folder / name, change)
        self.create(folder, "image", *(() if leg else ("--embed-release",)))
        return Site(folder, key)

    def create(self, folder: Path, what: str, *flags: str) -> None:
        """A medium of our machine OS and our release."""
        create(folder, what, *self.sources, *flags)

    @property
    def sources(self) -> tuple[str | Path, ...]:
        """What a medium is told to be made of."""
        return "--base-image", self.base, "--release", f"oci:{self.store}"

    def _image(self, id: str) -> str:
        store = open_store(self.store)
        return load_release(store, choose_release(store, "", "amd64")).image(id).pullspec


def _registry(leg: str) -> str:
    return f"{leg}:5000"


def judge(lab: Rehearsal, site: Site) -> None:
    """Have the nodes judge their cluster, as its administrator with the site's kubeconfig; all is well."""
    plan = resolve_site(load_site(Directory(site.folder), Environment())[0])
    files = {
        **_administrator(site.folder / "auth/kubeconfig"),
        "/etc/muster/cluster.json": (json.dumps(_wanted(plan)).encode(), 0o644),
        f"/etc/muster/report.d/{JUDGEMENT}": (JUDGE.read_bytes(), 0o755),
    }
    for host in plan.hosts:
        lab.put(host.hostname, site.key, files)
    lab.wait(",".join(f"passed:{host.hostname}:{JUDGEMENT}" for host in plan.hosts))


def _administrator(kubeconfig: Path) -> dict[str, tuple[bytes, int]]:
    """The kubeconfig, and what is in it as files that a program can use without more ado."""
    text = kubeconfig.read_bytes()
    body = yaml.safe_load(text)
    cluster, user = body["clusters"][0]["cluster"], body["users"][0]["user"]
    identity = user["client-certificate-data"], user["client-key-data"]
    return {
        "/etc/muster/admin.conf": (text, 0o600),
        "/etc/muster/admin.pem": (b"".join(map(base64.b64decode, identity)), 0o600),
        "/etc/muster/admin-authority.pem": (base64.b64decode(cluster["certificate-authority-data"]), 0o644),
        "/etc/muster/admin-server": (cluster["server"].encode(), 0o644),
    }


def _wanted(plan: Plan) -> dict[str, object]:
    labels = load_tuning("emulated").roles
    return {
        "first": next(host.hostname for host in plan.hosts if host.role is Role.MASTER),
        "nodes": {host.hostname: labels[host.role].label for host in plan.hosts},
        "pods": ["probe-", "coredns-"],
        "nameServer": str(plan.networks.service[0][_DNS]),
        "api": str(plan.networks.service[0][1]),
    }
