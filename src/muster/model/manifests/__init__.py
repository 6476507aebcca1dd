# SPDX-License-Identifier: Apache-2.0
"""cluster-manifests/: the Kubernetes objects that describe a cluster to a management cluster."""

from muster.model.manifests.agent_cluster_install import AgentClusterInstall
from muster.model.manifests.cluster_deployment import ClusterDeployment
from muster.model.manifests.cluster_image_set import ClusterImageSet
from muster.model.manifests.infra_env import InfraEnv
from muster.model.manifests.nmstate_config import NMStateConfig
from muster.model.manifests.pull_secret import PullSecret

__all__ = [
    "AgentClusterInstall",
    "ClusterDeployment",
    "ClusterImageSet",
    "InfraEnv",
    "NMStateConfig",
    "PullSecret",
]
