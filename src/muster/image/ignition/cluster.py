# SPDX-License-Identifier: Apache-2.0
"""What is to be installed, for the service on the rendezvous host: manifests, and the authorities."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from muster.config.kinds import ADD_ONS_FILE, MANIFESTS_DIR
from muster.config.manifests import render_manifests, render_yaml
from muster.image.credentials import Credentials
from muster.model.ignition import Config, File
from muster.model.plan import Plan

ADD_ONS: Final = f"/etc/assisted/{ADD_ONS_FILE}"


def cluster(plan: Plan, credentials: Credentials) -> Config:
    """The cluster as manifests, those that the user adds, and the authorities that its kubeconfig trusts."""
    own = {
        f"/etc/assisted/manifests/{PurePosixPath(name).name}": text
        for name, text in render_manifests(plan).items()
        if name.startswith(f"{MANIFESTS_DIR}/")
    }
    extra = {
        f"/etc/assisted/extra-manifests/{PurePosixPath(name).name}": text
        for name, text in plan.extra_manifests
    }
    if plan.add_ons:
        own[ADD_ONS] = render_yaml({"addOns": list(plan.add_ons)})
    tls = [File(f"/opt/agent/tls/{name}", data) for name, data in credentials.cluster_tls]
    return Config((*(File(path, text.encode()) for path, text in (own | extra).items()), *tls))
