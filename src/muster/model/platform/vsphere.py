# SPDX-License-Identifier: Apache-2.0
"""Platform vsphere: virtual machines on VMware vSphere, and the vCenters that manage them."""

from __future__ import annotations

from enum import StrEnum

from muster.model.platform.on_premises import AS_THEY_ARE, PORT, LoadBalancer, OnPremises
from muster.model.platform.vsphere_pool import VSphereMachinePool
from muster.model.schema import Items, Model, many, nested, value
from muster.model.values import (
    IP,
    IP_ADDRESS,
    IP_OR_DOMAIN,
    NETWORK,
    SECRET,
    TEXT,
    Network,
    Secret,
    choice,
)


class DiskType(StrEnum):
    """When the space of a disk is taken."""

    THIN = "thin"
    THICK = "thick"
    EAGER_ZEROED_THICK = "eagerZeroedThick"


class RegionType(StrEnum):
    """What a region is in vCenter."""

    DATACENTER = "Datacenter"
    COMPUTE_CLUSTER = "ComputeCluster"


class ZoneType(StrEnum):
    """What a zone is in vCenter."""

    COMPUTE_CLUSTER = "ComputeCluster"
    HOST_GROUP = "HostGroup"


class VSphereHostRole(StrEnum):
    """What a machine with a static address becomes."""

    BOOTSTRAP = "bootstrap"
    CONTROL_PLANE = "control-plane"
    COMPUTE = "compute"


class VCenter(Model):
    """A vCenter and the login that the cluster uses there; all fields but the port, or none."""

    server: str | None = value(IP_OR_DOMAIN, "Name or address of the vCenter.", example="vcenter.example.com")
    port: int | None = value(PORT, "TCP port of the vCenter.", default="443", example="443")
    user: str | None = value(TEXT, "Login name at the vCenter.", example="installer@vsphere.example.com")
    password: Secret | None = value(SECRET, "Password at the vCenter.")
    datacenters: Items[str] = many(TEXT, "Datacenters that hold machines of the cluster.", example="dc1")


class Topology(Model):
    """Where in a vCenter the machines of a failure domain are; objects are named by their full path."""

    datacenter: str | None = value(TEXT, "Datacenter of the machines.", example="dc1")
    compute_cluster: str | None = value(
        TEXT, "Compute cluster of the machines.", example="/dc1/host/cluster1"
    )
    networks: Items[str] = many(TEXT, "Networks (port groups) of the machines.", example="VM Network")
    datastore: str | None = value(TEXT, "Datastore of the machines.", example="/dc1/datastore/store1")
    resource_pool: str | None = value(
        TEXT,
        "Resource pool of the machines.",
        default="the root pool of computeCluster",
        example="/dc1/host/cluster1/Resources/pool1",
    )
    folder: str | None = value(
        TEXT, "Folder of the machines; needed when a vCenter login is given.", example="/dc1/vm/folder1"
    )
    template: str | None = value(
        TEXT, "Template that new machines are cloned from.", example="/dc1/vm/template1"
    )
    tag_ids: Items[str] = many(
        TEXT,
        "Tags to attach to new machines, at most ten.",
        key="tagIDs",
        example="urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL",
    )
    host_group: str | None = value(
        TEXT, "Group of ESXi hosts that is the zone; only with zoneType HostGroup.", example="group1"
    )


class FailureDomain(Model):
    """A part of the infrastructure that fails as one: a zone within a region."""

    name: str | None = value(TEXT, "Name of the failure domain.", required=True, example="zone-a")
    region: str | None = value(
        TEXT, "Tag of the category openshift-region in vCenter.", required=True, example="region1"
    )
    zone: str | None = value(
        TEXT, "Tag of the category openshift-zone in vCenter.", required=True, example="zone1"
    )
    server: str | None = value(
        IP_OR_DOMAIN,
        "Name or address of its vCenter, as in vcenters.",
        example="vcenter.example.com",
    )
    topology: Topology | None = value(nested(Topology), "Where in the vCenter it is.", required=True)
    region_type: RegionType | None = value(
        choice(RegionType), "What the region is in vCenter.", default="Datacenter", example="Datacenter"
    )
    zone_type: ZoneType | None = value(
        choice(ZoneType), "What the zone is in vCenter.", default="ComputeCluster", example="ComputeCluster"
    )


class NodeAddresses(Model):
    """Which of a machine's addresses counts as the node's address."""

    network_subnet_cidr: Items[Network] = many(
        NETWORK, "The address is in one of these networks.", example="192.0.2.0/24"
    )
    network: str | None = value(
        TEXT, "The address belongs to the card on this network (port group).", example="VM Network"
    )
    exclude_network_subnet_cidr: Items[Network] = many(
        NETWORK, "The address is in none of these networks.", example="198.51.100.0/24"
    )


class NodeNetworking(Model):
    """Which of a machine's addresses the node uses inside and outside of the cluster."""

    external: NodeAddresses | None = value(nested(NodeAddresses), "The address that outsiders can reach.")
    internal: NodeAddresses | None = value(nested(NodeAddresses), "The address that nodes use among them.")


class NetworkDevice(Model):
    """Static network of a machine that the installer would create."""

    gateway: IP | None = value(IP_ADDRESS, "Gateway of the machine.", example="192.0.2.1")
    ip_addrs: Items[str] = many(TEXT, "Addresses of the machine, with prefix.", example="192.0.2.20/24")
    nameservers: Items[IP] = many(IP_ADDRESS, "Name servers of the machine.", example="192.0.2.1")


class VSphereHost(Model):
    """A machine with a static address that the installer would create."""

    failure_domain: str | None = value(TEXT, "Failure domain of the machine.", example="zone-a")
    network_device: NetworkDevice | None = value(nested(NetworkDevice), "Static network of the machine.")
    role: VSphereHostRole | None = value(
        choice(VSphereHostRole), "What the machine becomes.", example="control-plane"
    )


class VSpherePlatform(OnPremises):
    """Virtual machines on VMware vSphere."""

    vcenters: Items[VCenter] = many(
        nested(VCenter),
        "vCenters and the logins that the cluster uses there.",
        default="none; the cluster gets its login after the installation",
    )
    failure_domains: Items[FailureDomain] = many(
        nested(FailureDomain), "Parts of the infrastructure that fail as one.", default="one for all machines"
    )
    node_networking: NodeNetworking | None = value(
        nested(NodeNetworking), "Which address of a machine the node uses.", default="the first one found"
    )
    load_balancer: LoadBalancer | None = value(
        nested(LoadBalancer),
        "Who balances the load.",
        default="the cluster itself",
        ignored="on vSphere the cluster always balances the load itself",
    )
    hosts: Items[VSphereHost] = many(
        nested(VSphereHost),
        "Machines with static addresses that the installer would create.",
        ignored="the machines exist already; static addresses stand in networkConfig of agent-config.yaml",
    )
    default_machine_platform: VSphereMachinePool | None = value(
        nested(VSphereMachinePool), "What machines of all pools have in common.", ignored=AS_THEY_ARE
    )
    disk_type: DiskType | None = value(
        choice(DiskType),
        "When the space of new disks is taken.",
        default="the storage policy of the datastore",
        ignored=AS_THEY_ARE,
        example="thin",
    )
    cluster_os_image: str | None = value(
        TEXT,
        "URL of another operating system image for the nodes.",
        key="clusterOSImage",
        ignored="hosts boot the image that is built here",
        example="https://mirror.example.com/vmware.ova",
    )
    v_center: str | None = value(
        IP_OR_DOMAIN,
        "Name or address of the one vCenter.",
        replaced_by="vcenters[].server",
        example="vcenter.example.com",
    )
    username: str | None = value(
        TEXT,
        "Login name at the one vCenter.",
        replaced_by="vcenters[].user",
        example="installer@vsphere.example.com",
    )
    password: Secret | None = value(SECRET, "Password at the one vCenter.", replaced_by="vcenters[].password")
    datacenter: str | None = value(
        TEXT, "Datacenter of the machines.", replaced_by="failureDomains[].topology.datacenter", example="dc1"
    )
    default_datastore: str | None = value(
        TEXT,
        "Datastore of the machines.",
        replaced_by="failureDomains[].topology.datastore",
        example="store1",
    )
    folder: str | None = value(
        TEXT,
        "Folder of the machines.",
        replaced_by="failureDomains[].topology.folder",
        example="/dc1/vm/folder1",
    )
    cluster: str | None = value(
        TEXT,
        "Compute cluster of the machines.",
        replaced_by="failureDomains[].topology.computeCluster",
        example="cluster1",
    )
    resource_pool: str | None = value(
        TEXT,
        "Resource pool of the machines.",
        replaced_by="failureDomains[].topology.resourcePool",
        example="/dc1/host/cluster1/Resources/pool1",
    )
    network: str | None = value(
        TEXT,
        "Network (port group) of the machines.",
        replaced_by="failureDomains[].topology.networks",
        example="VM Network",
    )
