# SPDX-License-Identifier: Apache-2.0
"""Optional parts of a cluster: which of them are installed."""

from __future__ import annotations

from enum import StrEnum

from muster.model.schema import Items, Model, many, value
from muster.model.values import choice


class CapabilitySet(StrEnum):
    """The optional parts that belonged to a release, or none of them."""

    NONE = "None"
    V4_11 = "v4.11"
    V4_12 = "v4.12"
    V4_13 = "v4.13"
    V4_14 = "v4.14"
    V4_15 = "v4.15"
    V4_16 = "v4.16"
    V4_17 = "v4.17"
    V4_18 = "v4.18"
    CURRENT = "vCurrent"


class Capability(StrEnum):
    """An optional part of a cluster."""

    BAREMETAL = "baremetal"
    BUILD = "Build"
    CLOUD_CONTROLLER_MANAGER = "CloudControllerManager"
    CLOUD_CREDENTIAL = "CloudCredential"
    CLUSTER_API = "ClusterAPI"
    COMPATIBILITY_REQUIREMENTS = "CompatibilityRequirements"
    CONSOLE = "Console"
    CSI_SNAPSHOT = "CSISnapshot"
    DEPLOYMENT_CONFIG = "DeploymentConfig"
    IMAGE_REGISTRY = "ImageRegistry"
    INGRESS = "Ingress"
    INSIGHTS = "Insights"
    MACHINE_API = "MachineAPI"
    MARKETPLACE = "marketplace"
    NODE_TUNING = "NodeTuning"
    OPENSHIFT_SAMPLES = "openshift-samples"
    OPERATOR_LIFECYCLE_MANAGER = "OperatorLifecycleManager"
    OPERATOR_LIFECYCLE_MANAGER_V1 = "OperatorLifecycleManagerV1"
    STORAGE = "Storage"


class Capabilities(Model):
    """Optional parts of the cluster that are installed."""

    baseline_capability_set: CapabilitySet | None = value(
        choice(CapabilitySet),
        "Set of optional parts to start from.",
        example="None",
    )
    additional_enabled_capabilities: Items[Capability] = many(
        choice(Capability), "Optional parts to add to the set.", default="none", example="Ingress"
    )
