# SPDX-License-Identifier: Apache-2.0
"""Where a host gets container images from: credentials, mirrors, trusted authorities."""

from __future__ import annotations

from muster.image.credentials import Credentials
from muster.model.ignition import PUBLIC, Config, File
from muster.model.plan import Plan
from muster.model.registries import render_registries_conf


def images(plan: Plan, _credentials: Credentials) -> Config:
    """The pull secret, and mirrors and authorities if the site has any."""
    files = [
        File("/root/.docker/config.json", plan.pull_secret.reveal().encode()),
        File("/etc/assisted/agent-installer.env", f"RELEASE_IMAGE={plan.release_image}\n".encode()),
    ]
    if plan.registries.registries:
        text = render_registries_conf(plan.registries)
        files.append(File("/etc/containers/registries.conf", text.encode(), PUBLIC))
    if plan.trust_bundle:
        path = "/etc/pki/ca-trust/source/anchors/domain.crt"
        files.append(File(path, plan.trust_bundle.encode(), PUBLIC))
    return Config(tuple(files))
