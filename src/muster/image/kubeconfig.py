# SPDX-License-Identifier: Apache-2.0
"""auth/kubeconfig: how the administrator reaches the cluster, known before the cluster is."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Final

from muster.image.pki import Pki, render_certificate
from muster.image.secrets import KeyName, SiteSecrets

USER: Final = "admin"


def render_kubeconfig(pki: Pki, secrets: SiteSecrets, name: str, base_domain: str, bundle: str) -> str:
    """The kubeconfig of a cluster whose API is verified with the certificates of ``bundle``.

    Texts are written as JSON, which is YAML too: a cluster may be called 0042 or true.
    """
    cluster, user = json.dumps(name), json.dumps(USER)
    return (
        "apiVersion: v1\n"
        "kind: Config\n"
        "clusters:\n"
        "- cluster:\n"
        f"    certificate-authority-data: {_base64(bundle)}\n"
        f"    server: {json.dumps(f'https://api.{name}.{base_domain}:6443')}\n"
        f"  name: {cluster}\n"
        "contexts:\n"
        "- context:\n"
        f"    cluster: {cluster}\n"
        f"    user: {user}\n"
        f"  name: {user}\n"
        f"current-context: {user}\n"
        "users:\n"
        f"- name: {user}\n"
        "  user:\n"
        f"    client-certificate-data: {_base64(render_certificate(pki.admin_client))}\n"
        f"    client-key-data: {_base64(secrets.keys[KeyName.ADMIN_CLIENT])}\n"
    )


def _base64(text: str) -> str:
    return b64encode(text.encode("ascii")).decode("ascii")
