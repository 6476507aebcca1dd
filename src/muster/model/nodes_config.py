# SPDX-License-Identifier: Apache-2.0
"""nodes-config.yaml: machines that join a cluster which runs already."""

from __future__ import annotations

from muster.model.host import Host
from muster.model.machine_pool import Architecture
from muster.model.manifests.words import ARCHITECTURE
from muster.model.metadata import Metadata
from muster.model.schema import Items, Model, many, nested, value
from muster.model.values import TEXT, url


class NodesConfig(Model):
    """Machines that join a cluster which runs already; all else is asked from the cluster."""

    api_version: str | None = value(TEXT, "Version of this file's format; not checked.", example="v1")
    kind: str | None = value(TEXT, "Kind of this file; not checked.", example="NodesConfig")
    metadata: Metadata | None = value(nested(Metadata), "Name of the object; has no meaning here.")
    cpu_architecture: Architecture | None = value(
        ARCHITECTURE, "CPU architecture of the machines.", default="that of the cluster", example="x86_64"
    )
    ssh_key: str | None = value(
        TEXT,
        "Public SSH keys that may log in to the machines as core, one per line.",
        default="those of the cluster's workers",
        example="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA... admin@example.com",
    )
    boot_artifacts_base_url: str | None = value(
        url("http", "https"),
        "Where the boot files will be served from (PXE).",
        key="bootArtifactsBaseURL",
        example="http://192.0.2.1:8080/boot",
    )
    hosts: Items[Host] = many(nested(Host), "The machines that join, at least one.", required=True)
