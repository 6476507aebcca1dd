# SPDX-License-Identifier: Apache-2.0
"""A site's hosts as nodes of a cluster, without an installer: their Ignition configs, and who judges them."""

from __future__ import annotations

import json
import os
from datetime import datetime
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

from muster.image.kubeconfig import render_kubeconfig
from muster.image.pki import build_pki, site_authorities
from muster.image.secrets import SiteSecrets
from muster.model.ignition import PROGRAM, PUBLIC, Config, File, join, tree_of
from muster.model.plan import Plan
from muster.model.registries import Mirror, RegistriesConf, Registry
from muster.release.model import Release
from muster.release.node.authorities import make_authorities
from muster.release.node.certificates import SETUP
from muster.release.node.cluster import Cluster, Member
from muster.release.node.payload import plan_cluster
from muster.release.node.tuning import load_tuning

RELEASE_HOST = "muster.local"
JUDGE = Path(__file__).with_name("judge.py")
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


def cluster_of(plan: Plan, secrets: SiteSecrets, mirror: str) -> Cluster:
    """The cluster of a site, which pulls from a registry of the lab: there is no TLS."""
    registry = Registry(location=RELEASE_HOST, blocked=True, mirrors=(Mirror(mirror, insecure=True),))
    return Cluster(
        name=plan.name,
        base_domain=plan.base_domain,
        id=secrets.cluster_id,
        members=tuple(
            Member(host.hostname, tuple(ip_interface(each).ip for each in host.addresses), host.role)
            for host in plan.hosts
        ),
        pods=plan.networks.cluster,
        services=plan.networks.service,
        api_vips=plan.api_vips,
        registries=RegistriesConf((registry,)),
        tuning="emulated",
    )


def cluster_trees(
    release: Release, cluster: Cluster, secrets: SiteSecrets, now: datetime
) -> dict[str, dict[str, Any]]:
    """The Ignition configs of all hosts, with a judge on each of them."""
    pki = build_pki(secrets)
    authorities = make_authorities(site_authorities(pki), cluster.id, os.urandom, now)
    admin = render_kubeconfig(pki, secrets, cluster.name, cluster.base_domain, pki.api_bundle)
    labels = load_tuning(cluster.tuning).roles
    wanted = {
        "nodes": {member.name: labels[member.role].label for member in cluster.members},
        "pods": ["probe-", "coredns-"],
        "nameServer": str(cluster.dns_addresses[0]),
        "api": str(cluster.services[0][1]),
    }
    probe = PROBE.format(image=release.image("pause").pullspec)
    extra = Config(
        (
            File("/etc/muster/admin.conf", admin.encode()),
            File("/etc/muster/cluster.json", json.dumps(wanted).encode(), PUBLIC),
            File("/etc/muster/report.d/cluster", JUDGE.read_bytes(), PROGRAM),
            File(f"{SETUP}/manifests/99-probe.yaml", probe.encode(), PUBLIC),
        )
    )
    configs = plan_cluster(release, cluster, authorities, os.urandom)
    return {name: tree_of(join((config, extra))) for name, config in configs.items()}
