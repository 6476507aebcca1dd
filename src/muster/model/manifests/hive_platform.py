# SPDX-License-Identifier: Apache-2.0
"""What a cluster runs on, as a ClusterDeployment says it to a management cluster."""

from __future__ import annotations

from muster.model.manifests.references import LabelSelector, Reference
from muster.model.schema import Items, Model, many, nested, value
from muster.model.tree import Node
from muster.model.values import FREE, IP_OR_DOMAIN, TEXT, number

_UUID = "8d2c6b1e-4f5a-4c3b-9e7d-0a1b2c3d4e5f"


class AgentBareMetal(Model):
    """Machines that boot the image of an InfraEnv."""

    agent_selector: LabelSelector | None = value(
        nested(LabelSelector), "Labels of the hosts that may become part of the cluster."
    )


class HiveBareMetal(Model):
    """Machines that a provisioning host installs."""

    libvirt_ssh_private_key_secret_ref: Reference | None = value(
        nested(Reference),
        "Secret with the SSH key of the provisioning host.",
        key="libvirtSSHPrivateKeySecretRef",
    )


class HiveVSphere(Model):
    """Virtual machines on vSphere."""

    vcenter: str | None = value(
        IP_OR_DOMAIN, "Address of the vCenter.", key="vCenter", example="vcenter.example.com"
    )
    credentials_secret_ref: Reference | None = value(nested(Reference), "Secret with name and password.")
    certificates_secret_ref: Reference | None = value(
        nested(Reference), "Secret with the authorities that the vCenter is trusted by."
    )
    datacenter: str | None = value(TEXT, "Datacenter within the vCenter.", example="dc1")
    default_datastore: str | None = value(TEXT, "Datastore for volumes.", example="datastore1")
    folder: str | None = value(TEXT, "Folder for virtual machines.", example="/dc1/vm/site1")
    cluster: str | None = value(TEXT, "vSphere cluster for virtual machines.", example="cluster1")
    network: str | None = value(TEXT, "Network of the virtual machines.", example="VM Network")


class PrismEndpoint(Model):
    """Where a Prism service listens."""

    address: str | None = value(IP_OR_DOMAIN, "Address of the service.", example="prism.example.com")
    port: int | None = value(
        number(1, 65535, why="Ports are numbered so."), "Port of the service.", example="9440"
    )


class PrismElement(Model):
    """A Nutanix cluster."""

    uuid: str | None = value(TEXT, "Identifier of the Nutanix cluster.", example=_UUID)
    endpoint: PrismEndpoint | None = value(nested(PrismEndpoint), "Where it listens.")
    name: str | None = value(TEXT, "Name of the Nutanix cluster.", example="pe1")


class StorageReference(Model):
    """Something stored in a Nutanix cluster."""

    reference_name: str | None = value(TEXT, "Name that others refer to it by.", example="images")
    uuid: str | None = value(TEXT, "Identifier of it.", example=_UUID)
    name: str | None = value(TEXT, "Name of it.", example="container1")


class NutanixFailureDomain(Model):
    """Machines that can fail together."""

    name: str | None = value(TEXT, "Name of the failure domain.", example="fd1")
    prism_element: PrismElement | None = value(nested(PrismElement), "Nutanix cluster of the machines.")
    subnet_uuids: Items[str] = many(
        TEXT, "Identifiers of the networks of the machines.", key="subnetUUIDs", example=_UUID
    )
    storage_containers: Items[StorageReference] = many(nested(StorageReference), "Where disks are stored.")
    data_source_images: Items[StorageReference] = many(
        nested(StorageReference), "Images that disks are made from."
    )


class HiveNutanix(Model):
    """Virtual machines on Nutanix."""

    prism_central: PrismEndpoint | None = value(nested(PrismEndpoint), "Where Prism Central listens.")
    credentials_secret_ref: Reference | None = value(nested(Reference), "Secret with name and password.")
    certificates_secret_ref: Reference | None = value(
        nested(Reference), "Secret with the authorities that Prism Central is trusted by."
    )
    failure_domains: Items[NutanixFailureDomain] = many(
        nested(NutanixFailureDomain), "Groups of machines that can fail together."
    )


class HiveNone(Model):
    """No platform; has no fields."""


class HivePlatform(Model):
    """What the cluster runs on."""

    agent_bare_metal: AgentBareMetal | None = value(
        nested(AgentBareMetal), "Machines that boot the image of an InfraEnv."
    )
    baremetal: HiveBareMetal | None = value(
        nested(HiveBareMetal), "Machines that a provisioning host installs."
    )
    vsphere: HiveVSphere | None = value(nested(HiveVSphere), "Virtual machines on vSphere.")
    nutanix: HiveNutanix | None = value(nested(HiveNutanix), "Virtual machines on Nutanix.")
    none: HiveNone | None = value(nested(HiveNone), "No platform; has no fields.")
    aws: Node | None = value(FREE, "Machines on AWS.")
    azure: Node | None = value(FREE, "Machines on Azure.")
    gcp: Node | None = value(FREE, "Machines on Google Cloud.")
    ibmcloud: Node | None = value(FREE, "Machines on IBM Cloud.")
    openstack: Node | None = value(FREE, "Machines on OpenStack.")
