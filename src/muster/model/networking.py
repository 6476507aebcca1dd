# SPDX-License-Identifier: Apache-2.0
"""The networks of a cluster: of its machines, pods and services, and the plugin that joins them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from muster.model.schema import Items, Model, many, nested, value
from muster.model.tree import Node
from muster.model.values import FREE, INTEGER, NETWORK, TEXT, Network, choice

_NO_SUCH_SETTING: Final = "this file has no such setting; put a Network manifest into openshift/ instead"


class ObservabilityPolicy(StrEnum):
    """What happens to network observability during the installation."""

    INSTALL_AND_ENABLE = "InstallAndEnable"
    NO_ACTION = "NoAction"


class MachineNetwork(Model):
    """A network that hosts have their addresses in."""

    alone = ("cidr", "[0-9A-Fa-f.:]+/[0-9]+")

    cidr: Network | None = value(
        NETWORK, "Addresses of the hosts; the VIPs come from it too.", required=True, example="192.0.2.0/24"
    )


class ClusterNetwork(Model):
    """A network that pods get their addresses from."""

    alone = ("cidr", "[0-9A-Fa-f.:]+/[0-9]+")

    cidr: Network | None = value(
        NETWORK,
        "Addresses of the pods; no other network may overlap with it.",
        required=True,
        example="2001:db8:2::/48",
    )
    host_prefix: int | None = value(
        INTEGER, "Prefix length of the part of the network that each host gets for its pods.", example="64"
    )
    host_subnet_length: int | None = value(
        INTEGER,
        "Size of each host's part in bits, counted from the other end than hostPrefix.",
        replaced_by="hostPrefix",
        example="9",
    )


class OVNKubernetesIPv4(Model):
    """IPv4 networks that OVN-Kubernetes uses inside itself."""

    internal_join_subnet: Network | None = value(
        NETWORK,
        "Network between the routers of the hosts; change it when something else uses the default.",
        default="100.64.0.0/16",
        example="198.51.100.0/24",
    )
    internal_transit_switch_subnet: Network | None = value(
        NETWORK, "Network between the zones of the cluster.", forbidden=_NO_SUCH_SETTING
    )


class OVNKubernetes(Model):
    """Settings of the plugin OVN-Kubernetes."""

    ipv4: OVNKubernetesIPv4 | None = value(
        nested(OVNKubernetesIPv4), "Internal IPv4 networks of the plugin.", default="the plugin's own choice"
    )
    ipv6: Node | None = value(FREE, "Internal IPv6 networks of the plugin.", forbidden=_NO_SUCH_SETTING)


class NetworkObservability(Model):
    """Whether the cluster watches its own network traffic."""

    installation_policy: ObservabilityPolicy | None = value(
        choice(ObservabilityPolicy),
        "Install network observability with the cluster, or leave it alone.",
        required=True,
        example="NoAction",
    )


class Networking(Model):
    """The networks of the cluster; the first entry of each list sets the primary IP family."""

    network_type: str | None = value(
        TEXT, "Network plugin of the cluster.", default="OVNKubernetes", example="OVNKubernetes"
    )
    machine_network: Items[MachineNetwork] = many(
        nested(MachineNetwork), "Networks that the hosts have their addresses in.", default="10.0.0.0/16"
    )
    cluster_network: Items[ClusterNetwork] = many(
        nested(ClusterNetwork),
        "Networks that pods get their addresses from.",
        default="10.128.0.0/14 with hostPrefix 23",
    )
    service_network: Items[Network] = many(
        NETWORK,
        "Networks that services get their addresses from, one per IP family.",
        default="172.30.0.0/16",
        example="2001:db8:3::/112",
    )
    cluster_network_mtu: int | None = value(
        INTEGER,
        "Largest packet between pods, in bytes.",
        key="clusterNetworkMTU",
        default="what the hosts' network leaves after the plugin's overhead",
        forbidden="it can be chosen only on AWS; elsewhere it follows from the MTU of the hosts",
    )
    ovn_kubernetes_config: OVNKubernetes | None = value(
        nested(OVNKubernetes), "Settings of OVN-Kubernetes; only with that networkType."
    )
    network_observability: NetworkObservability | None = value(
        nested(NetworkObservability),
        "Whether the cluster watches its own network traffic.",
        default="installed, except on a single-node cluster",
    )
    machine_cidr: Network | None = value(
        NETWORK,
        "The one network of the hosts.",
        key="machineCIDR",
        replaced_by="machineNetwork",
        example="192.0.2.0/24",
    )
    type: str | None = value(
        TEXT, "Network plugin of the cluster.", replaced_by="networkType", example="OVNKubernetes"
    )
    service_cidr: Network | None = value(
        NETWORK,
        "The one network of the services.",
        key="serviceCIDR",
        replaced_by="serviceNetwork",
        example="2001:db8:3::/112",
    )
    cluster_networks: Items[ClusterNetwork] = many(
        nested(ClusterNetwork),
        "Networks that pods get their addresses from.",
        replaced_by="clusterNetwork",
    )
