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
        logins_file(plan.pull_secret.reveal()),
        File("/etc/assisted/agent-installer.env", f"RELEASE_IMAGE={plan.release_image}\n".encode()),
    ]
    if plan.registries.registries:
        text = render_registries_conf(plan.registries)
        files.append(File("/etc/containers/registries.conf", text.encode(), PUBLIC))
    if plan.trust_bundle:
        files.append(trust_file(plan.trust_bundle))
    return Config(tuple(files))


def logins_file(pull_secret: str) -> File:
    """The logins of registries, where podman and its like look for them."""
    return File("/root/.docker/config.json", pull_secret.encode())


def trust_file(bundle: str) -> File:
    """Certificates of authorities that the whole system trusts."""
    return File("/etc/pki/ca-trust/source/anchors/domain.crt", bundle.encode(), PUBLIC)
