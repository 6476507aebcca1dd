# SPDX-License-Identifier: Apache-2.0
"""A site whose hosts become a cluster of their own accord, and who judges it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import yaml

from muster.config.document.folder import Directory
from muster.config.load import load_site
from muster.config.resolve import resolve_site
from muster.model.plan import Plan
from muster.model.site import Environment
from muster.release.node.tuning import load_tuning
from tests.component.live import run
from tests.lab.rehearsal import Rehearsal, save_yaml

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
JUDGE = Path(__file__).with_name("judge.py")
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
apiVersion: apps/v1
kind: Deployment
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
      containers:
      - name: probe
        image: "{image}"
"""


def build_site(folder: Path, example: str, store: Path, image: str) -> Path:
    """An example with a registry in the room, a pod of its own, and our key; where the key is."""
    shutil.copytree(EXAMPLES / example, folder)
    gateway = "192.0.2.1"
    save_yaml(
        folder / "lab.yaml",
        {"services": ["dns"], "registryStore": str(store), "memoryMiB": MEMORY_MIB},
    )
    for name in ("mirror", "openshift"):
        (folder / name).mkdir()
    (folder / "mirror/registries.conf").write_text(MIRRORS.format(registry=f"{gateway}:5000"))
    (folder / "openshift/probe.yaml").write_text(PROBE.format(image=image))
    key = folder.parent / "key"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    path = folder / "install-config.yaml"
    body = yaml.safe_load(path.read_text("utf-8"))
    save_yaml(path, {**body, "sshKey": key.with_suffix(".pub").read_text().strip()})
    return key


def judge(lab: Rehearsal, site: Path, key: Path) -> None:
    """Have the nodes judge their cluster from now on, as its administrator with the site's own kubeconfig."""
    plan = resolve_site(load_site(Directory(site), Environment())[0])
    files = {
        "/etc/muster/admin.conf": ((site / "auth/kubeconfig").read_bytes(), "600"),
        "/etc/muster/cluster.json": (json.dumps(_wanted(plan)).encode(), "644"),
        "/etc/muster/report.d/cluster": (JUDGE.read_bytes(), "755"),
    }
    for host in plan.hosts:
        lab.run("ssh", host.hostname, "--key", key, "--", "sudo", "mkdir", "-p", "/etc/muster/report.d")
        for place, (content, mode) in files.items():
            lab.put(host.hostname, key, place, content, mode)


def _wanted(plan: Plan) -> dict[str, object]:
    labels = load_tuning("emulated").roles
    return {
        "nodes": {host.hostname: labels[host.role].label for host in plan.hosts},
        "pods": ["probe-", "coredns-"],
        "nameServer": str(plan.networks.service[0][_DNS]),
        "api": str(plan.networks.service[0][1]),
    }
