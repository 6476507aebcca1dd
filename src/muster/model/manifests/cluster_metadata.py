# SPDX-License-Identifier: Apache-2.0
"""What an installed cluster is called, as AgentClusterInstall and ClusterDeployment note it."""

from __future__ import annotations

from muster.model.manifests.references import Reference
from muster.model.schema import Model, nested, value
from muster.model.tree import Node
from muster.model.values import FREE, TEXT


class ClusterMetadata(Model):
    """What the installed cluster is called, and how to log in."""

    cluster_id: str | None = value(
        TEXT,
        "Identifier that no other cluster has.",
        key="clusterID",
        example="8d2c6b1e-4f5a-4c3b-9e7d-0a1b2c3d4e5f",
    )
    infra_id: str | None = value(
        TEXT, "Identifier in the names of what belongs to the cluster.", key="infraID", example="site1-x7k2p"
    )
    admin_kubeconfig_secret_ref: Reference | None = value(
        nested(Reference), "Secret with the administrator's kubeconfig."
    )
    admin_password_secret_ref: Reference | None = value(
        nested(Reference), "Secret with the administrator's name and password."
    )
    metadata_json_secret_ref: Reference | None = value(
        nested(Reference), "Secret with the installer's metadata.json.", key="metadataJSONSecretRef"
    )
    platform: Node | None = value(FREE, "What the cluster is called in a cloud.")
