# SPDX-License-Identifier: Apache-2.0
"""What image-based media carry, for people: made from the examples with the same secrets every time."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from muster.config.check import check_folder
from muster.config.document.folder import Directory, Memory
from muster.config.resolve_image_based import resolve_configuration, resolve_installation
from muster.image.image_based.config import build_configuration
from muster.image.image_based.installation import build_installation_ignition
from muster.model.site import Environment, Site
from tests.conftest import Golden
from tests.golden.test_examples import EXAMPLES, HERE, ROOT
from tests.golden.test_ignition import listing
from tests.seeds import fixed_secrets

CONFIGS = [path for path in EXAMPLES if (path / "image-based-config.yaml").exists()]
INSTALLATIONS = [path for path in EXAMPLES if (path / "image-based-installation-config.yaml").exists()]
MORE = b"""
proxy:
  httpProxy: http://user:p%40ss@proxy.example.com:3128
  httpsProxy: http://user:p%40ss@proxy.example.com:3128
  noProxy: .example.com
"""


def load(folder: Directory | Memory) -> Site:
    site, problems = check_folder(folder, Environment())
    assert not problems
    return site


def shown(site: Site) -> str:
    """All files of the ISO, as JSON that people can read."""
    found = build_configuration(resolve_configuration(site), fixed_secrets())
    parts = []
    for name, data in found.files.items():
        text = json.dumps(json.loads(data), indent=2) if name.endswith(".json") else data.decode()
        parts.append(f"===== {name}\n{text}\n")
    return re.sub(r"-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----", _fingerprint, "".join(parts))


def _fingerprint(match: re.Match[str]) -> str:
    """A private key that is the same in every run, but that no search for leaked keys stumbles over."""
    return f"(private key {hashlib.sha256(match[0].encode()).hexdigest()[:16]})"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_configuration(path: Path, golden: Golden) -> None:
    golden(HERE / "image_based" / f"{path.name}.txt", shown(load(Directory(path))))


def test_configuration_with_a_proxy_and_manifests(golden: Golden) -> None:
    path = ROOT / "examples/image-based-config"
    manifest = b"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ours\n"
    files: dict[str, bytes | None] = {
        "install-config.yaml": (path / "install-config.yaml").read_bytes() + MORE,
        "extra-manifests/namespace.yaml": manifest,
        "extra-manifests/other.json": b'{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}}',
    }
    golden(HERE / "image_based/proxy-and-manifests.txt", shown(load(Memory(files, Directory(path)))))


@pytest.mark.parametrize("path", INSTALLATIONS, ids=lambda path: path.name)
def test_installation(path: Path, golden: Golden) -> None:
    plan = resolve_installation(load(Directory(path)))
    golden(HERE / "image_based" / f"{path.name}.txt", listing(build_installation_ignition(plan)))


def test_installation_with_a_network_and_a_proxy(golden: Golden) -> None:
    path = ROOT / "examples/image-based-installation"
    network = b"""
networkConfig:
  interfaces:
    - name: eno1
      type: ethernet
      state: up
      mac-address: 52:54:00:b5:00:01
      ipv4: {enabled: true, dhcp: true}
"""
    text = (path / "image-based-installation-config.yaml").read_bytes() + MORE + network
    site = load(Memory({"image-based-installation-config.yaml": text}, Directory(path)))
    config = build_installation_ignition(resolve_installation(site), b"#!/bin/sh\necho done\n")
    for unit in config.units:
        assert "%" not in unit.contents
        assert "proxy.example.com" not in unit.contents
    golden(HERE / "image_based/installation-network-and-proxy.txt", listing(config))
