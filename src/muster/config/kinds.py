# SPDX-License-Identifier: Apache-2.0
"""Which file holds which model: the one table that reading, explaining and schemas share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muster.model.add_ons import AddOnsConfig
from muster.model.agent_config import AgentConfig
from muster.model.image_based import ImageBasedConfig, ImageBasedInstallationConfig
from muster.model.install_config import InstallConfig
from muster.model.lab import LabConfig
from muster.model.manifests import (
    AgentClusterInstall,
    ClusterDeployment,
    ClusterImageSet,
    InfraEnv,
    NMStateConfig,
    PullSecret,
)
from muster.model.nodes_config import NodesConfig
from muster.model.schema import Model

MANIFESTS_DIR: Final = "cluster-manifests"
MIRROR_DIR: Final = "mirror"
EXTRA_DIR: Final = "openshift"
IMAGE_BASED_EXTRA_DIR: Final = "extra-manifests"
FINISHED_DIR: Final = "cluster-configuration"
"""What `openshift-install image-based create config-image` puts onto its image, and reads back."""
ADD_ONS_FILE: Final = "add-ons.yaml"
LAB_FILE: Final = "lab.yaml"
"""It speaks of a rehearsal, and no medium depends on it."""
TOP_FILES: Final[Mapping[str, type[Model]]] = {
    "install-config.yaml": InstallConfig,
    "agent-config.yaml": AgentConfig,
    "image-based-installation-config.yaml": ImageBasedInstallationConfig,
    "image-based-config.yaml": ImageBasedConfig,
    "nodes-config.yaml": NodesConfig,
    ADD_ONS_FILE: AddOnsConfig,
    LAB_FILE: LabConfig,
}
MANIFEST_FILES: Final[Mapping[str, type[Model]]] = {
    "pull-secret.yaml": PullSecret,
    "infraenv.yaml": InfraEnv,
    "nmstateconfig.yaml": NMStateConfig,
    "agent-cluster-install.yaml": AgentClusterInstall,
    "cluster-deployment.yaml": ClusterDeployment,
    "cluster-image-set.yaml": ClusterImageSet,
}
KINDS: Final[Mapping[str, tuple[str, type[Model]]]] = {
    **{name.removesuffix(".yaml"): (name, model) for name, model in TOP_FILES.items()},
    **{
        name.removesuffix(".yaml"): (f"{MANIFESTS_DIR}/{name}", model)
        for name, model in MANIFEST_FILES.items()
    },
}
"""Every kind of file by its short name: its path in a site's directory, and its model."""
