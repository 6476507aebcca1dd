# SPDX-License-Identifier: Apache-2.0
"""Every Ignition config that Muster makes is judged by Ignition itself."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from muster.config.document.folder import Directory
from muster.image.credentials import credentials_of
from muster.image.ignition.agent import agent_tree
from muster.image.tokens import VALID_FOR
from muster.model.ignition import render_tree
from tests.golden.test_examples import CLUSTERS, ROOT, resolve
from tests.seeds import fixed_secrets

OVERRIDE = json.dumps(
    {
        "ignition": {"version": "3.1.0"},
        "storage": {"files": [{"path": "/etc/chrony.conf", "contents": {"source": "data:,server%20a"}}]},
        "systemd": {
            "units": [
                {"name": "more.service", "enabled": True, "contents": "[Install]\nWantedBy=sysinit.target\n"}
            ]
        },
    }
)


def validate(config: bytes) -> str:
    done = subprocess.run(["ignition-validate", "-"], input=config, capture_output=True, check=False)
    return done.stderr.decode() + done.stdout.decode()


@pytest.mark.parametrize("path", CLUSTERS, ids=lambda path: path.name)
def test_ignition_accepts_it(path: Path) -> None:
    plan = resolve(Directory(path))
    tree, _ = agent_tree(plan, credentials_of(plan, fixed_secrets(), VALID_FOR), OVERRIDE)
    assert validate(render_tree(tree)) == ""


def test_ignition_refuses_nonsense() -> None:
    assert "error" in validate(b'{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "a"}]}}')


def test_least_secrets() -> None:
    """No key of an authority that hosts do not need, and no token but that of agents."""
    plan = resolve(Directory(ROOT / "examples/compact-baremetal"))
    secrets = fixed_secrets()
    credentials = credentials_of(plan, secrets, VALID_FOR)
    tree, _ = agent_tree(plan, credentials)
    paths = [file["path"] for file in tree["storage"]["files"]]
    assert [path for path in paths if path.endswith(".key")] == [
        "/etc/assisted/tls/service.key",
        "/opt/agent/tls/kube-apiserver-lb-signer.key",
        "/opt/agent/tls/kube-apiserver-localhost-signer.key",
        "/opt/agent/tls/kube-apiserver-service-network-signer.key",
    ]
    kubernetes = replace(plan, release_kind="kubernetes")
    fewer = credentials_of(kubernetes, secrets, VALID_FOR).cluster_tls
    assert [name for name, _ in fewer if name.endswith(".key")] == ["kube-apiserver-lb-signer.key"]
    assert len([name for name, _ in fewer if name.endswith(".crt")]) == 4
    text = repr(credentials)
    assert "PRIVATE" not in text
    assert credentials.agent_token not in text
    units = json.dumps(tree["systemd"])
    assert plan.pull_secret.reveal() not in units
    assert all(
        file["mode"] == 0o600
        for file in tree["storage"]["files"]
        if file["path"].startswith(("/opt/agent/tls/", "/etc/assisted/t", "/root/"))
    )
