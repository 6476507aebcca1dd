# SPDX-License-Identifier: Apache-2.0
"""The Ignition config of every example site, for people; the component tests ask Ignition itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.config.document.folder import Directory
from muster.image.credentials import Credentials
from muster.image.ignition.agent import agent_config
from muster.model.ignition import Config
from tests.conftest import Golden
from tests.golden.test_examples import CLUSTERS, HERE, resolve

CREDENTIALS = Credentials(
    cluster_id="11111111-2222-4333-8444-555555555555",
    infra_env_id="66666666-7777-4888-8999-000000000000",
    password_hash="(hash of the password)",
    cluster_tls=(("kube-apiserver-lb-signer.crt", b"(certificate)\n"),),
    service_tls=(("service-ca.crt", b"(certificate)\n"),),
    agent_token="(token)",
    token_key=b"(public key)\n",
)
ELSEWHERE = {"/usr/local/bin/": "(a program)", "/etc/assisted/manifests/": "(a manifest)"}
"""What has tests of its own."""


def listing(config: Config) -> str:
    """The config for people: every file with its mode and text, every unit, every user."""
    parts = [f"user {user.name} {user.password_hash}\n" + "\n".join(user.ssh_keys) for user in config.users]
    parts += [
        f"{'enabled' if unit.enabled else 'disabled'} unit {unit.name}\n{unit.contents}"
        for unit in config.units
    ]
    for file in config.files:
        elsewhere = next((what for start, what in ELSEWHERE.items() if file.path.startswith(start)), None)
        text = elsewhere or file.data.decode()
        parts.append(f"file {file.path} {file.mode:04o}\n{text}")
    return "".join(f"===== {part.rstrip()}\n" for part in parts)


@pytest.mark.parametrize("path", CLUSTERS, ids=lambda path: path.name)
def test_ignition(path: Path, golden: Golden) -> None:
    config = agent_config(resolve(Directory(path)), CREDENTIALS)
    golden(HERE / "ignition" / f"{path.name}.txt", listing(config))
