# SPDX-License-Identifier: Apache-2.0
"""A host becomes a cluster of one node, by the machine OS, a release at a registry, and Ignition."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from muster.config.document.folder import Directory
from muster.image.secrets import dump_secrets, make_secrets
from muster.release.look import choose_release, load_release
from muster.release.store.store import open_store
from tests.golden.test_examples import resolve
from tests.lab.cluster import cluster_of, cluster_trees
from tests.lab.rehearsal import Rehearsal, create, save_json, save_yaml

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
REGISTRY = "192.0.2.1:5000"
"""Where the lab serves the release: at the address of the gateway."""
MEMORY_MIB = 3072


def test_a_host_becomes_a_cluster(lab: Rehearsal, desk: Path, machine_os: Path, release_store: Path) -> None:
    """Live, all in memory; the judge in the guest is the administrator, with the site's own kubeconfig."""
    site = desk / "site"
    shutil.copytree(EXAMPLES / "single-node-none", site)
    room = {"services": ["dns"], "registryStore": str(release_store), "memoryMiB": MEMORY_MIB}
    save_yaml(site / "lab.yaml", room)
    store = open_store(release_store)
    release = load_release(store, choose_release(store, "", "amd64"))
    now = datetime.now(UTC)
    secrets = make_secrets(os.urandom, now)
    cluster = cluster_of(resolve(Directory(site)), secrets, REGISTRY)
    override = save_json(desk / "node.ign", cluster_trees(release, cluster, secrets, now)["node1"])
    kept = save_json(desk / "secrets.json", dump_secrets(secrets))
    flags = ("--ignition-override", override, "--secrets", kept)
    create(site, "image", "--base-image", machine_os / "live.iso", *flags)

    lab.up(site)
    report = lab.wait("healthy")["node1"]

    assert report["checks"]["cluster"] == {"passed": True, "said": "ready: node1"}
    assert report["failedUnits"] == []
    assert {"cni0"} <= {*report["addresses"]}
