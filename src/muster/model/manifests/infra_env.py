# SPDX-License-Identifier: Apache-2.0
"""infraenv.yaml: what hosts boot, before they belong to a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from muster.model.install_config import Proxy
from muster.model.machine_pool import Architecture
from muster.model.manifests.references import (
    LabelSelector,
    NamespacedReference,
    Reference,
)
from muster.model.manifests.words import ARCHITECTURE, choice_or_empty
from muster.model.metadata import Metadata
from muster.model.schema import Items, Model, many, nested, table, value
from muster.model.tree import Node
from muster.model.values import BOOLEAN, FREE, IP_OR_DOMAIN, TEXT, choice, number


class IPXEScriptType(StrEnum):
    """What a host boots over the network."""

    DISCOVERY_IMAGE_ALWAYS = "DiscoveryImageAlways"
    BOOT_ORDER_CONTROL = "BootOrderControl"


class ImageType(StrEnum):
    """How much of the live system an ISO holds."""

    FULL_ISO = "full-iso"
    MINIMAL_ISO = "minimal-iso"
    DISCONNECTED_ISO = "disconnected-iso"


class KernelArgumentOperation(StrEnum):
    """What is done with a kernel argument."""

    APPEND = "append"
    REPLACE = "replace"
    DELETE = "delete"


class KernelArgument(Model):
    """A change of the live system's kernel command line."""

    operation: KernelArgumentOperation | None = value(
        choice(KernelArgumentOperation), "What is done with the argument.", required=True, example="append"
    )
    argument: str | None = value(
        TEXT,
        "The argument: NAME or NAME=VALUE, in double quotes where it has spaces.",
        key="value",
        required=True,
        example="rd.net.timeout.carrier=60",
    )


class AgentApproval(Model):
    """Which hosts may join without being asked for."""

    auto_approve: bool | None = value(BOOLEAN, "Accept every host that boots the image.", default="false")


class InfraEnvSpec(Model):
    """What the image holds that hosts boot."""

    cluster_ref: NamespacedReference | None = value(
        nested(NamespacedReference), "ClusterDeployment that the hosts belong to."
    )
    pull_secret_ref: Reference | None = value(nested(Reference), "Secret that images are pulled with.")
    ssh_authorized_key: str | None = value(
        TEXT,
        "Public SSH keys that may log in to the live system as core, one per line.",
        default="nobody can log in with SSH",
        example="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA... admin@example.com",
    )
    nm_state_config_label_selector: LabelSelector | None = value(
        nested(LabelSelector), "Labels of the NMStateConfigs whose hosts belong to this image."
    )
    cpu_architecture: Architecture | None = value(
        ARCHITECTURE, "CPU architecture of the hosts.", default="x86_64", example="aarch64"
    )
    proxy: Proxy | None = value(
        nested(Proxy), "Proxy that the live system uses to reach the outside.", default="none"
    )
    additional_ntp_sources: Items[str] = many(
        IP_OR_DOMAIN, "Time servers for all hosts.", key="additionalNTPSources", example="192.0.2.1"
    )
    additional_trust_bundle: str | None = value(
        TEXT,
        "Certificates (PEM) of authorities that hosts trust, for example of a mirror registry.",
        example="-----BEGIN CERTIFICATE-----...",
    )
    ignition_config_override: str | None = value(
        TEXT,
        "Ignition config (JSON) that is merged into the one of the live system.",
        example='{"ignition": {"version": "3.2.0"}}',
    )
    kernel_arguments: Items[KernelArgument] = many(
        nested(KernelArgument), "Changes of the live system's kernel command line."
    )
    ipxe_script_type: IPXEScriptType | None = value(
        choice_or_empty(IPXEScriptType),
        "What hosts boot over the network.",
        default="DiscoveryImageAlways",
        example="DiscoveryImageAlways",
    )
    image_type: ImageType | None = value(
        choice_or_empty(ImageType),
        "Whether the ISO holds the live system's root file system or downloads it.",
        default="full-iso",
        example="minimal-iso",
    )
    os_image_version: str | None = value(
        TEXT, "Release whose live system is booted; not together with clusterRef.", example="4.21"
    )
    mirror_registry_ref: NamespacedReference | None = value(
        nested(NamespacedReference), "ConfigMap with mirrors of image repositories."
    )
    agent_labels: Mapping[str, str] = table(TEXT, "Labels that the hosts get when they register.")
    agent_approval: AgentApproval | None = value(
        nested(AgentApproval), "Which hosts may join without being asked for."
    )
    network_discovery_delay_seconds: int | None = value(
        number(0, why="A time cannot be negative."),
        "How long a minimal ISO waits for network cards before it looks for their MAC addresses.",
        default="0",
        example="30",
    )


class InfraEnv(Model):
    """What hosts boot, before they belong to a cluster."""

    api_version: str | None = value(
        TEXT,
        "Version of this object's format: agent-install.openshift.io/v1beta1.",
        example="agent-install.openshift.io/v1beta1",
    )
    kind: str | None = value(TEXT, "Always InfraEnv.", example="InfraEnv")
    metadata: Metadata | None = value(nested(Metadata), "Name of the object.")
    spec: InfraEnvSpec | None = value(
        nested(InfraEnvSpec), "What the image holds that hosts boot.", required=True
    )
    status: Node | None = value(FREE, "What became of the object.")
