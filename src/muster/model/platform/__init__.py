# SPDX-License-Identifier: Apache-2.0
"""Platforms: what a cluster runs on, one field for each."""

from __future__ import annotations

from muster.model.platform.baremetal import BareMetalPlatform
from muster.model.platform.external import ExternalPlatform, NonePlatform
from muster.model.platform.nutanix import NutanixPlatform
from muster.model.platform.vsphere import VSpherePlatform
from muster.model.schema import Model, nested, value
from muster.model.tree import Node
from muster.model.values import FREE


class Platform(Model):
    """What the cluster runs on: exactly one of these fields."""

    baremetal: BareMetalPlatform | None = value(
        nested(BareMetalPlatform), "Own machines; the cluster brings its own load balancer and VIPs."
    )
    vsphere: VSpherePlatform | None = value(nested(VSpherePlatform), "Virtual machines on VMware vSphere.")
    nutanix: NutanixPlatform | None = value(nested(NutanixPlatform), "Virtual machines on Nutanix.")
    none: NonePlatform | None = value(
        nested(NonePlatform), "Any machines; load balancer and DNS are up to you. Has no fields: write {}."
    )
    external: ExternalPlatform | None = value(
        nested(ExternalPlatform), "A provider that integrates itself after the installation."
    )
    aws: Node | None = value(FREE, "Amazon Web Services.")
    azure: Node | None = value(FREE, "Microsoft Azure.")
    gcp: Node | None = value(FREE, "Google Cloud.")
    ibmcloud: Node | None = value(FREE, "IBM Cloud.")
    openstack: Node | None = value(FREE, "OpenStack.")
    ovirt: Node | None = value(FREE, "oVirt.")
    powervc: Node | None = value(FREE, "IBM PowerVC.")
    powervs: Node | None = value(FREE, "IBM Power Virtual Server.")
