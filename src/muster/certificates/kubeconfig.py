# SPDX-License-Identifier: Apache-2.0
"""kubeconfig files: where a cluster's API is, whom to believe that it is it, and who is calling."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import field

from muster.frozen import dataclass


@dataclass(frozen=True)
class Access:
    """One user's way to one cluster."""

    cluster: str
    server: str
    bundle: str
    """The authorities that the API is verified with, as PEM."""
    user: str
    certificate: str
    key: str = field(repr=False)


def render_kubeconfig(access: Access) -> str:
    """The file. Texts are written as JSON, which is YAML too: a cluster may be called 0042 or true."""
    cluster, user = json.dumps(access.cluster), json.dumps(access.user)
    return (
        "apiVersion: v1\n"
        "kind: Config\n"
        "clusters:\n"
        "- cluster:\n"
        f"    certificate-authority-data: {_base64(access.bundle)}\n"
        f"    server: {json.dumps(access.server)}\n"
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
        f"    client-certificate-data: {_base64(access.certificate)}\n"
        f"    client-key-data: {_base64(access.key)}\n"
    )


def _base64(text: str) -> str:
    return b64encode(text.encode("ascii")).decode("ascii")
