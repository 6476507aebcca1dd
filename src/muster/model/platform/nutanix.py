# SPDX-License-Identifier: Apache-2.0
"""Platform nutanix: virtual machines on Nutanix, and the Prisms that manage them."""

from __future__ import annotations

from typing import Final

from muster.model.platform.nutanix_pool import NutanixMachinePool, StorageReference
from muster.model.platform.on_premises import AS_THEY_ARE, PORT, LoadBalancer, OnPremises
from muster.model.schema import Items, Model, many, nested, value
from muster.model.values import IP_OR_DOMAIN, SECRET, TEXT, Secret, number

_OWN_IMAGE: Final = "hosts boot the image that is built here"
_MINUTES: Final = number(1, why="A call needs time to be answered.")
_UUID: Final = "5736bf56-49f5-4667-b38c-b97e09dc9578"


class PrismEndpoint(Model):
    """Where a Prism answers."""

    address: str | None = value(
        IP_OR_DOMAIN, "Name or address of the Prism.", required=True, example="prism.example.com"
    )
    port: int | None = value(PORT, "TCP port of the Prism.", required=True, example="9440")


class PrismCentral(Model):
    """The Prism Central, and the login that the cluster uses there."""

    endpoint: PrismEndpoint | None = value(nested(PrismEndpoint), "Where it answers.", required=True)
    username: str | None = value(TEXT, "Login name at Prism Central.", required=True, example="installer")
    password: Secret | None = value(SECRET, "Password at Prism Central.", required=True)


class PrismElement(Model):
    """A Nutanix cluster that machines run on."""

    uuid: str | None = value(TEXT, "UUID of the Prism Element.", required=True, example=_UUID)
    endpoint: PrismEndpoint | None = value(nested(PrismEndpoint), "Where it answers.", required=True)
    name: str | None = value(TEXT, "Name of the Prism Element.", example="element1")


class FailureDomainElement(PrismElement):
    """The Nutanix cluster of a failure domain."""

    uuid: str | None = value(TEXT, "UUID of the Prism Element.", example=_UUID)
    endpoint: PrismEndpoint | None = value(nested(PrismEndpoint), "Where it answers.")


class NutanixFailureDomain(Model):
    """A part of the infrastructure that fails as one."""

    name: str | None = value(TEXT, "Name of the failure domain.", example="zone-a")
    prism_element: FailureDomainElement | None = value(nested(FailureDomainElement), "Its Nutanix cluster.")
    subnet_uuids: Items[str] = many(TEXT, "UUIDs of its networks.", key="subnetUUIDs", example=_UUID)
    storage_containers: Items[StorageReference] = many(
        nested(StorageReference), "Storage containers that machines can use there."
    )
    data_source_images: Items[StorageReference] = many(
        nested(StorageReference), "Images that disks can be copied from there."
    )


class NutanixPlatform(OnPremises):
    """Virtual machines on Nutanix."""

    prism_central: PrismCentral | None = value(
        nested(PrismCentral), "The Prism Central, and the login that the cluster uses there.", required=True
    )
    prism_elements: Items[PrismElement] = many(
        nested(PrismElement), "Nutanix cluster that the machines run on; exactly one.", required=True
    )
    subnet_uuids: Items[str] = many(
        TEXT,
        "UUIDs of the machines' networks, from one to 32.",
        key="subnetUUIDs",
        required=True,
        example=_UUID,
    )
    load_balancer: LoadBalancer | None = value(
        nested(LoadBalancer),
        "Who balances the load.",
        default="the cluster itself",
        ignored="on Nutanix the cluster always balances the load itself",
    )
    failure_domains: Items[NutanixFailureDomain] = many(
        nested(NutanixFailureDomain), "Parts of the infrastructure that fail as one.", ignored=AS_THEY_ARE
    )
    default_machine_platform: NutanixMachinePool | None = value(
        nested(NutanixMachinePool), "What machines of all pools have in common.", ignored=AS_THEY_ARE
    )
    cluster_os_image: str | None = value(
        TEXT,
        "URL of another operating system image for the nodes.",
        key="clusterOSImage",
        ignored=_OWN_IMAGE,
        example="https://mirror.example.com/nutanix.qcow2",
    )
    preloaded_os_image_name: str | None = value(
        TEXT,
        "Name of an operating system image that Prism holds already.",
        key="preloadedOSImageName",
        ignored=_OWN_IMAGE,
        example="rhcos",
    )
    prism_api_call_timeout: int | None = value(
        _MINUTES,
        "How long a call to Prism may take, in minutes.",
        key="prismAPICallTimeout",
        default="10",
        ignored="no machines are created, so Prism is not called",
        example="20",
    )
