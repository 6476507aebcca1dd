# SPDX-License-Identifier: Apache-2.0
"""agent-cluster-install.yaml: how a cluster is installed on the hosts that boot the image."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from muster.model.install_config import Proxy
from muster.model.machine_pool import Hyperthreading
from muster.model.manifests.cluster_metadata import ClusterMetadata
from muster.model.manifests.references import NamespacedReference, Reference
from muster.model.manifests.words import choice_or_empty, word
from muster.model.metadata import Metadata
from muster.model.networking import MachineNetwork
from muster.model.platform.external import CloudControllerManager
from muster.model.platform.on_premises import LoadBalancerType
from muster.model.schema import Items, Model, many, nested, value
from muster.model.tree import Node
from muster.model.values import BOOLEAN, FREE, IP, IP_ADDRESS, NETWORK, TEXT, Network, choice, number, url

OVERRIDES_ANNOTATION: Final = "agent-install.openshift.io/install-config-overrides"
"""Annotation with the settings of install-config.yaml that this object has no field for, as JSON."""

_COUNT: Final = number(0, why="It is a number of hosts.")


class NetworkType(StrEnum):
    """The plugin that joins the cluster's networks."""

    OVN_KUBERNETES = "OVNKubernetes"
    OPENSHIFT_SDN = "OpenShiftSDN"
    CISCO_ACI = "CiscoACI"
    CILIUM = "Cilium"
    CALICO = "Calico"
    NONE = "None"


class PlatformType(StrEnum):
    """What the cluster runs on."""

    BAREMETAL = "BareMetal"
    NONE = "None"
    VSPHERE = "VSphere"
    NUTANIX = "Nutanix"
    EXTERNAL = "External"


class EnableOn(StrEnum):
    """Hosts whose disks are encrypted."""

    NONE = "none"
    ALL = "all"
    MASTERS = "masters"
    ARBITERS = "arbiters"
    WORKERS = "workers"
    MASTERS_ARBITERS = "masters,arbiters"
    MASTERS_WORKERS = "masters,workers"
    ARBITERS_WORKERS = "arbiters,workers"
    MASTERS_ARBITERS_WORKERS = "masters,arbiters,workers"


class DiskEncryptionMode(StrEnum):
    """What a disk is unlocked by."""

    TPM = "tpmv2"
    TANG = "tang"


class ClusterNetworkEntry(Model):
    """A network that pods get their addresses from."""

    alone = ("cidr", "[0-9A-Fa-f.:]+/[0-9]+")

    cidr: Network | None = value(
        NETWORK,
        "Addresses of the pods; no other network may overlap with it.",
        required=True,
        example="2001:db8:2::/48",
    )
    host_prefix: int | None = value(
        number(0, 128, why="An address has at most 128 bits."),
        "Prefix length of the part of the network that each host gets for its pods.",
        example="64",
    )


class AgentNetworking(Model):
    """The networks of the cluster; the first entry of each list sets the primary IP family."""

    machine_network: Items[MachineNetwork] = many(
        nested(MachineNetwork), "Networks that the hosts have their addresses in."
    )
    cluster_network: Items[ClusterNetworkEntry] = many(
        nested(ClusterNetworkEntry),
        "Networks that pods get their addresses from.",
        default="10.128.0.0/14 with hostPrefix 23",
    )
    service_network: Items[Network] = many(
        NETWORK,
        "Networks that services get their addresses from, one per IP family.",
        default="172.30.0.0/16",
        example="2001:db8:3::/112",
    )
    network_type: NetworkType | None = value(
        choice_or_empty(NetworkType),
        "Network plugin of the cluster.",
        default="OVNKubernetes",
        example="OVNKubernetes",
    )
    user_managed_networking: bool | None = value(
        BOOLEAN,
        "Whether load balancing and DNS of the API come from outside the cluster.",
        default="true on platforms None and External, else false",
    )


class ProvisionRequirements(Model):
    """How many hosts have to be there before the installation starts."""

    control_plane_agents: int | None = value(
        _COUNT, "How many hosts run the control plane.", required=True, example="3"
    )
    arbiter_agents: int | None = value(_COUNT, "How many hosts are arbiters.", default="0", example="1")
    worker_agents: int | None = value(_COUNT, "How many hosts are workers.", default="0", example="2")


class AgentMachinePool(Model):
    """Hosts of one kind."""

    name: str | None = value(
        TEXT, "Name of the pool: master, arbiter or worker.", required=True, example="worker"
    )
    hyperthreading: Hyperthreading | None = value(
        choice_or_empty(Hyperthreading),
        "Whether each core runs more than one thread.",
        default="Enabled",
        example="Disabled",
    )


class IgnitionEndpoint(Model):
    """Where hosts get their Ignition config from, other than the cluster."""

    address: str | None = value(
        url("http", "https"),
        "Address of the server.",
        key="url",
        example="https://ignition.example.com/config",
    )
    ca_certificate_reference: NamespacedReference | None = value(
        nested(NamespacedReference), "Secret with the authority that signed the server's certificate."
    )


class DiskEncryption(Model):
    """Which disks are encrypted, and what unlocks them."""

    enable_on: EnableOn | None = value(
        choice(EnableOn), "Hosts whose disks are encrypted.", default="none", example="all"
    )
    mode: DiskEncryptionMode | None = value(
        choice(DiskEncryptionMode), "What unlocks a disk: the host's TPM, or Tang servers.", example="tpmv2"
    )
    tang_servers: str | None = value(
        TEXT,
        "Tang servers as a JSON list, each with url and thumbprint.",
        example='[{"url": "http://tang.example.com:7500", "thumbprint": "..."}]',
    )


class ExternalPlatform(Model):
    """A provider whose parts are added by somebody else."""

    platform_name: str | None = value(TEXT, "Name of the provider.", default="Unknown", example="oci")
    cloud_controller_manager: CloudControllerManager | None = value(
        word({"External": CloudControllerManager.EXTERNAL}),
        "Write External when the provider brings a cloud controller manager.",
        default="none",
        example="External",
    )


_LOAD_BALANCER: Final = word(
    {
        "ClusterManaged": LoadBalancerType.OPENSHIFT_MANAGED_DEFAULT,
        "UserManaged": LoadBalancerType.USER_MANAGED,
    }
)
"""install-config.yaml has another word for the first one."""


class LoadBalancer(Model):
    """What distributes the requests to the hosts."""

    type: LoadBalancerType | None = value(
        _LOAD_BALANCER,
        "Who runs the load balancer: the cluster or the user.",
        default="ClusterManaged",
        example="UserManaged",
    )


class AgentClusterInstallSpec(Model):
    """How the cluster is installed."""

    cluster_deployment_ref: Reference | None = value(
        nested(Reference), "ClusterDeployment that is installed."
    )
    image_set_ref: Reference | None = value(
        nested(Reference), "ClusterImageSet with the release that is installed."
    )
    provision_requirements: ProvisionRequirements | None = value(
        nested(ProvisionRequirements),
        "How many hosts have to be there before the installation starts.",
        required=True,
    )
    networking: AgentNetworking | None = value(
        nested(AgentNetworking), "Networks of hosts, pods and services.", default="the defaults of its fields"
    )
    platform_type: PlatformType | None = value(
        word(
            {str(platform): platform for platform in PlatformType},
            also={platform.lower(): platform for platform in PlatformType},
        ),
        "What the cluster runs on.",
        default="None for a single host, else BareMetal",
        example="BareMetal",
    )
    external: ExternalPlatform | None = value(
        nested(ExternalPlatform), "The provider, with platformType External."
    )
    api_vip: IP | None = value(
        IP_ADDRESS,
        "Virtual address of the API.",
        key="apiVIP",
        example="192.0.2.5",
    )
    api_vips: Items[IP] = many(
        IP_ADDRESS, "Virtual addresses of the API, one per IP family.", key="apiVIPs", example="192.0.2.5"
    )
    ingress_vip: IP | None = value(
        IP_ADDRESS,
        "Virtual address of the applications.",
        key="ingressVIP",
        example="192.0.2.6",
    )
    ingress_vips: Items[IP] = many(
        IP_ADDRESS,
        "Virtual addresses of the applications, one per IP family.",
        key="ingressVIPs",
        example="192.0.2.6",
    )
    load_balancer: LoadBalancer | None = value(
        nested(LoadBalancer), "What distributes the requests to the hosts.", default="the cluster itself"
    )
    ssh_public_key: str | None = value(
        TEXT,
        "Public SSH keys that may log in to the nodes as core, one per line.",
        default="nobody can log in with SSH",
        example="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA... admin@example.com",
    )
    proxy: Proxy | None = value(
        nested(Proxy), "Proxy that the cluster uses to reach the outside.", default="none"
    )
    control_plane: AgentMachinePool | None = value(
        nested(AgentMachinePool), "Hosts that run the control plane."
    )
    arbiter: AgentMachinePool | None = value(
        nested(AgentMachinePool), "Small host that keeps two control-plane hosts in agreement."
    )
    compute: Items[AgentMachinePool] = many(nested(AgentMachinePool), "Hosts that run the workloads.")
    masters_schedulable: bool | None = value(
        BOOLEAN,
        "Whether control-plane hosts run workloads too.",
        default="true when there are no workers, else false",
    )
    disk_encryption: DiskEncryption | None = value(
        nested(DiskEncryption), "Which disks are encrypted, and what unlocks them.", default="none"
    )
    ignition_endpoint: IgnitionEndpoint | None = value(
        nested(IgnitionEndpoint),
        "Where hosts get their Ignition config from.",
        default="the cluster's own server",
    )
    hold_installation: bool | None = value(
        BOOLEAN, "Wait with the installation although everything is ready.", default="false"
    )
    manifests_config_map_ref: Reference | None = value(
        nested(Reference), "ConfigMap with further manifests.", replaced_by="manifestsConfigMapRefs"
    )
    manifests_config_map_refs: Items[Reference] = many(
        nested(Reference), "ConfigMaps with further manifests for the cluster."
    )
    mirror_registry_ref: NamespacedReference | None = value(
        nested(NamespacedReference), "ConfigMap with mirrors of image repositories."
    )
    cluster_metadata: ClusterMetadata | None = value(
        nested(ClusterMetadata), "What the cluster is called, once it is installed."
    )


class AgentClusterInstall(Model):
    """How a cluster is installed on the hosts that boot the image."""

    api_version: str | None = value(
        TEXT,
        "Version of this object's format: extensions.hive.openshift.io/v1beta1.",
        example="extensions.hive.openshift.io/v1beta1",
    )
    kind: str | None = value(TEXT, "Always AgentClusterInstall.", example="AgentClusterInstall")
    metadata: Metadata | None = value(
        nested(Metadata), "Name, and as an annotation what has no field of its own."
    )
    spec: AgentClusterInstallSpec | None = value(
        nested(AgentClusterInstallSpec), "How the cluster is installed.", required=True
    )
    status: Node | None = value(FREE, "What became of the object.")
