# SPDX-License-Identifier: Apache-2.0
"""Platforms: what each of them needs beyond the shape of its fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config import derive
from muster.config.document import edit
from muster.config.rules import bgp, provisioning, vsphere
from muster.config.rules.machines import is_uuid, platform_section
from muster.model.platform.baremetal import BareMetalPlatform, BootMode
from muster.model.platform.external import CloudControllerManager, ExternalPlatform
from muster.model.platform.nutanix import NutanixPlatform
from muster.model.platform.on_premises import DNSRecordsType, LoadBalancerType, OnPremises
from muster.model.problem import Place, Problem, problem
from muster.model.site import Site
from muster.model.tree import Node, Sequence, is_null

_OCI: Final = "oci"
_MOST_SUBNETS: Final = 32


def check_external(site: Site) -> Iterator[Problem]:
    """A provider with a cloud controller manager of its own brings it along."""
    external = platform_section(site, ExternalPlatform)
    if external is None or external.is_unread("cloud_controller_manager"):
        return
    manager = external.cloud_controller_manager
    if external.platform_name == _OCI and manager is not CloudControllerManager.EXTERNAL:
        written = external.has("cloud_controller_manager")
        at = external.at("cloud_controller_manager") if written else external.at("platform_name")
        right = str(CloudControllerManager.EXTERNAL)
        edits = edit.replace_scalar(at, right) if written else ()
        if not written and external.has("platform_name"):
            edits = edit.add_entry(at, "cloudControllerManager", str(right))
        yield problem("oci-controller", at, edits=edits)
    elif manager is CloudControllerManager.EXTERNAL and not site.extra_manifests:
        yield problem("external-without-manifests", external.at("cloud_controller_manager"))


def check_dns_records(site: Site) -> Iterator[Problem]:
    """Names are served from outside only when the load is balanced there."""
    section, name = platform_section(site, OnPremises), derive.platform_name(site.install)
    if section is None or section.dns_records_type is not DNSRecordsType.EXTERNAL:
        return
    at = section.at("dns_records_type")
    if name != "baremetal":
        # A load balancer has no effect on the other platforms.
        yield problem("dns-records-type", at, also=f", which platform {name} does not have", other="")
    elif not _may_be_user_managed(section):
        other = ", or use a load balancer of your own (loadBalancer.type: UserManaged)"
        yield problem("dns-records-type", at, also="", other=other)


def _may_be_user_managed(section: OnPremises) -> bool:
    balancer = section.load_balancer
    if balancer is None:
        return section.is_unread("load_balancer")
    return balancer.type is LoadBalancerType.USER_MANAGED or balancer.is_unread("type")


def check_boot_modes(site: Site) -> Iterator[Problem]:
    """Hosts keep the boot mode that their firmware has."""
    baremetal = platform_section(site, BareMetalPlatform)
    for host in baremetal.hosts if baremetal else ():
        if host.boot_mode not in (None, BootMode.UEFI):
            reason = "hosts boot in the mode that their firmware is set to"
            yield problem("ignored-field", Place.of_key(host.at("boot_mode")), key="bootMode", reason=reason)


def check_nutanix(site: Site) -> Iterator[Problem]:
    """Machines on Nutanix run on one Prism Element, in networks that are each named once."""
    nutanix = platform_section(site, NutanixPlatform)
    if nutanix is None:
        return
    elements = nutanix.places.get("prism_elements")
    if isinstance(elements, Sequence) and not nutanix.is_unread("prism_elements"):
        count = len(nutanix.prism_elements)
        if count != 1:
            at = Place.of(elements.items[1]) if count > 1 else Place.of_key(elements)
            yield problem("prism-elements", at, count=count)
    yield from _subnets(nutanix)
    for element in nutanix.prism_elements:
        if element.uuid and not is_uuid(element.uuid):
            yield problem("not-a-uuid", element.at("uuid"), key="uuid", value=element.uuid)


def _subnets(nutanix: NutanixPlatform) -> Iterator[Problem]:
    node = nutanix.places.get("subnet_uuids")
    if not isinstance(node, Sequence) or nutanix.is_unread("subnet_uuids"):
        return
    count = len(nutanix.subnet_uuids)
    if not 1 <= count <= _MOST_SUBNETS:
        yield problem("subnet-count", Place.of_key(node), count=count, most=_MOST_SUBNETS)
    first: dict[str, Node] = {}
    for uuid, at in nutanix.subnet_uuids.located():
        if not is_uuid(uuid):
            yield problem("not-a-uuid", at, key="subnetUUIDs", value=uuid or '""')
        elif first.setdefault(uuid.lower(), at) is not at:
            yield problem(
                "subnet-twice",
                at,
                value=uuid,
                line=Place.of(first[uuid.lower()]).line,
                edits=edit.remove_item(at),
            )


def check_unused(site: Site) -> Iterator[Problem]:
    """Settings of the provisioning network need a host with a management controller."""
    baremetal = platform_section(site, BareMetalPlatform)
    if baremetal is None or any(host.host.bmc and host.host.bmc.has("address") for host in site.hosts):
        return
    for name in provisioning.FIELDS:
        node = baremetal.places.get(name)
        if node is not None and not is_null(node) and not baremetal.is_unread(name):
            key = node.key.text if node.key else name
            reason = "no host has a bmc.address, so the cluster manages no machines"
            yield problem("ignored-field", Place.of_key(node), key=key, reason=reason)


RULES: Final = (
    check_external,
    check_dns_records,
    check_boot_modes,
    check_nutanix,
    check_unused,
    *vsphere.RULES,
    *provisioning.RULES,
    *bgp.RULES,
)
