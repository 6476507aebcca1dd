# SPDX-License-Identifier: Apache-2.0
"""auth/kubeconfig: how the administrator reaches the cluster, known before the cluster is."""

from __future__ import annotations

from typing import Final

from muster.certificates import kubeconfig
from muster.certificates.issue import render_certificate
from muster.image.pki import Pki
from muster.image.secrets import KeyName, SiteSecrets

USER: Final = "admin"


def render_kubeconfig(pki: Pki, secrets: SiteSecrets, name: str, base_domain: str, bundle: str) -> str:
    """The kubeconfig of a cluster whose API is verified with the certificates of ``bundle``."""
    access = kubeconfig.Access(
        cluster=name,
        server=f"https://api.{name}.{base_domain}:6443",
        bundle=bundle,
        user=USER,
        certificate=render_certificate(pki.admin_client),
        key=secrets.keys[KeyName.ADMIN_CLIENT],
    )
    return kubeconfig.render_kubeconfig(access)
