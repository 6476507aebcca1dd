# SPDX-License-Identifier: Apache-2.0
"""What makes nodes of the hosts of a cluster, for people: keys are left out, and certificates described."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from muster.model.ignition import Config
from muster.release.node.payload import plan_cluster
from tests.clusters import CLUSTERS, RELEASE, authorities
from tests.conftest import Golden
from tests.seeds import seeded

HERE = Path(__file__).parent
CERTIFICATE = b"-----BEGIN CERTIFICATE-----"


@pytest.mark.parametrize("name", CLUSTERS)
def test_nodes(name: str, golden: Golden) -> None:
    configs = plan_cluster(RELEASE, CLUSTERS[name], authorities(), seeded("hosts"))
    golden(HERE / "nodes" / f"{name}.txt", "".join(listing(configs)))


def listing(configs: dict[str, Config]) -> Iterator[str]:
    """Every unit and file of every host; what an earlier host has as well is named only."""
    seen: dict[str, str] = {}
    for host, config in configs.items():
        yield f"########## {host}\n"
        parts = {f"unit {unit.name}": unit.contents for unit in config.units}
        parts |= {
            f"file {file.path} {file.mode:04o}": describe(file.path, file.data) for file in config.files
        }
        parts |= {f"link {link.path}": link.target for link in config.links}
        for title, text in parts.items():
            first = seen.setdefault(f"{title}\n{text}", host)
            shown = text if first == host else f"(as on {first})"
            yield f"===== {title}\n{shown.rstrip()}\n"


def describe(path: str, data: bytes) -> str:
    if data.startswith(CERTIFICATE) and "/pki/" in path and "registries" not in path:
        return "".join(describe_certificate(each) for each in x509.load_pem_x509_certificates(data))
    if path.startswith("/usr/local/bin/"):
        return "(a program)"  # It has tests of its own.
    if b"PRIVATE KEY-----" in data:
        return "(a private key)"
    if path.endswith((".conf", "/kubeconfig")) and data.startswith(b"apiVersion"):
        return describe_kubeconfig(yaml.safe_load(data))
    return re.sub(r"(?m)^( +secret: ).*$", r"\1(a key)", data.decode())


def describe_certificate(certificate: x509.Certificate) -> str:
    lines = [
        f"{certificate.subject.rfc4514_string()} by {certificate.issuer.rfc4514_string()}, "
        f"{certificate.not_valid_before_utc:%F %R} to {certificate.not_valid_after_utc:%F %R}"
    ]
    for extension in certificate.extensions:
        if isinstance(extension.value, x509.ExtendedKeyUsage):
            lines.append("  for " + ", ".join(sorted(each._name for each in extension.value)))
        elif isinstance(extension.value, x509.SubjectAlternativeName):
            lines += [f"  {each.value}" for each in extension.value]
    return "\n".join(lines) + "\n"


def describe_kubeconfig(body: dict[str, Any]) -> str:
    user = body["users"][0]["user"]
    pem = base64.b64decode(user["client-certificate-data"])
    return f"{body['clusters'][0]['cluster']['server']}\n" + describe_certificate(
        x509.load_pem_x509_certificate(pem)
    )
