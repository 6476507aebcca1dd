# SPDX-License-Identifier: Apache-2.0
"""Machine pools: how many hosts of a kind a cluster has, and what they have in common."""

from __future__ import annotations

from enum import StrEnum

from muster.model.platform.baremetal import BareMetalMachinePool
from muster.model.platform.nutanix_pool import NutanixMachinePool
from muster.model.platform.on_premises import AS_THEY_ARE
from muster.model.platform.vsphere_pool import VSphereMachinePool
from muster.model.schema import Items, Model, many, nested, value
from muster.model.tree import Node
from muster.model.values import FREE, HOSTNAME, INTEGER, MAC_ADDRESS, SECRET, TEXT, Secret, choice


class Hyperthreading(StrEnum):
    """Whether each core runs more than one thread."""

    ENABLED = "Enabled"
    DISABLED = "Disabled"


class Architecture(StrEnum):
    """CPU architecture of the hosts."""

    AMD64 = "amd64"
    ARM64 = "arm64"
    PPC64LE = "ppc64le"
    S390X = "s390x"


class CertificateVerification(StrEnum):
    """Whether the certificate of a management controller has to be trusted."""

    ENABLED = "Enabled"
    DISABLED = "Disabled"


class DiskPurpose(StrEnum):
    """What an extra disk is for."""

    ETCD = "etcd"
    SWAP = "swap"
    USER_DEFINED = "user-defined"


class MachineManagement(StrEnum):
    """Which interface the cluster manages its machines with."""

    CLUSTER_API = "ClusterAPI"
    MACHINE_API = "MachineAPI"


class Credential(Model):
    """How to switch off one control-plane host through its management controller."""

    host_name: str | None = value(
        HOSTNAME, "Name of the host; this or macAddress says which host is meant.", example="master-0"
    )
    mac_address: str | None = value(
        MAC_ADDRESS, "MAC address of a network card of the host.", example="52:54:00:ab:cd:ef"
    )
    username: str | None = value(TEXT, "Login name at the controller.", required=True, example="admin")
    password: Secret | None = value(SECRET, "Password at the controller.", required=True)
    address: str | None = value(
        TEXT,
        "Redfish address of the controller, with its port.",
        required=True,
        example="redfish+https://192.0.2.60:443/redfish/v1/Systems/1",
    )
    certificate_verification: CertificateVerification | None = value(
        choice(CertificateVerification),
        "Whether the controller's certificate has to be trusted.",
        default="Enabled",
        example="Disabled",
    )


class Fencing(Model):
    """How two control-plane hosts can switch each other off when one of them fails."""

    credentials: Items[Credential] = many(
        nested(Credential), "Management controllers of the two control-plane hosts."
    )


class PlatformDisk(Model):
    """A disk by the name that the platform gives it."""

    platform_disk_id: str | None = value(
        TEXT, "What the platform calls the disk.", key="platformDiskID", example="data0"
    )


class UserDisk(PlatformDisk):
    """A disk for data of the user's choice."""

    mount_path: str | None = value(TEXT, "Directory that the disk is mounted at.", example="/var/lib/data")


class DiskSetup(Model):
    """An extra disk of every host of the pool; the field named like its type describes it."""

    type: DiskPurpose | None = value(choice(DiskPurpose), "What the disk is for.", example="etcd")
    etcd: PlatformDisk | None = value(nested(PlatformDisk), "Disk for etcd; only in controlPlane.")
    swap: PlatformDisk | None = value(nested(PlatformDisk), "Disk for swapping.")
    user_defined: UserDisk | None = value(nested(UserDisk), "Disk for data of your choice.")


class MachinePoolPlatform(Model):
    """What machines that are made on a platform would look like."""

    baremetal: BareMetalMachinePool | None = value(
        nested(BareMetalMachinePool), "Machines on bare metal; has no fields.", ignored=AS_THEY_ARE
    )
    vsphere: VSphereMachinePool | None = value(
        nested(VSphereMachinePool), "Virtual machines on vSphere.", ignored=AS_THEY_ARE
    )
    nutanix: NutanixMachinePool | None = value(
        nested(NutanixMachinePool), "Virtual machines on Nutanix.", ignored=AS_THEY_ARE
    )
    aws: Node | None = value(FREE, "Machines on AWS.", ignored=AS_THEY_ARE)
    azure: Node | None = value(FREE, "Machines on Azure.", ignored=AS_THEY_ARE)
    gcp: Node | None = value(FREE, "Machines on Google Cloud.", ignored=AS_THEY_ARE)
    ibmcloud: Node | None = value(FREE, "Machines on IBM Cloud.", ignored=AS_THEY_ARE)
    openstack: Node | None = value(FREE, "Machines on OpenStack.", ignored=AS_THEY_ARE)
    ovirt: Node | None = value(FREE, "Machines on oVirt.", ignored=AS_THEY_ARE)
    powervc: Node | None = value(FREE, "Machines on IBM PowerVC.", ignored=AS_THEY_ARE)
    powervs: Node | None = value(FREE, "Machines on IBM Power Virtual Server.", ignored=AS_THEY_ARE)


class MachinePool(Model):
    """Hosts of one kind: the control plane, the arbiter or the workers."""

    name: str | None = value(
        TEXT,
        "Name of the pool: master in controlPlane, arbiter in arbiter, worker in compute.",
        default="master in controlPlane, arbiter in arbiter; in compute it must be given",
        example="worker",
    )
    replicas: int | None = value(
        INTEGER,
        "How many hosts the pool has.",
        default="3 in controlPlane and compute, 0 in arbiter",
        example="3",
    )
    architecture: Architecture | None = value(
        choice(Architecture),
        "CPU architecture of the hosts.",
        default="amd64",
        example="arm64",
    )
    hyperthreading: Hyperthreading | None = value(
        choice(Hyperthreading),
        "Whether each core runs more than one thread.",
        default="Enabled",
        example="Enabled",
    )
    platform: MachinePoolPlatform | None = value(
        nested(MachinePoolPlatform), "How the machines are made; empty here.", default="empty"
    )
    fencing: Fencing | None = value(
        nested(Fencing), "How hosts switch each other off; only for a control plane of two hosts."
    )
    disk_setup: Items[DiskSetup] = many(nested(DiskSetup), "Extra disks of every host of the pool.")
    management: MachineManagement | None = value(
        choice(MachineManagement),
        "Which interface the cluster manages its machines with; ClusterAPI only on AWS.",
        default="MachineAPI",
        example="MachineAPI",
    )
