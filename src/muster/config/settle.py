# SPDX-License-Identifier: Apache-2.0
"""Platforms as they will be: fields of earlier releases in today's form, and defaults that others rely on.

The installer converts them the same way, so that two ways of saying the same thing give the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from posixpath import join
from typing import Any, Final, TypeAlias

from muster.config import derive
from muster.model.dump import dump
from muster.model.platform.baremetal import BareMetalPlatform, ProvisioningNetwork
from muster.model.platform.vsphere import FailureDomain, Topology, VCenter, VSpherePlatform
from muster.model.schema import Items, fields_of
from muster.model.site import Site

Note: TypeAlias = Callable[[str, object, str], None]
"""Takes the name, the value and the reason of something that no file gives."""

_PROVISIONING: Final = (
    "provisioning_network",
    "provisioning_network_interface",
    "provisioning_network_cidr",
    "provisioning_network_gateway",
    "provisioning_dhcp_range",
    "cluster_provisioning_ip",
)
_OLD_PROVISIONING: Final = ("provisioning_host_ip", "provisioning_dhcp_external")


def settle_baremetal(platform: BareMetalPlatform, site: Site, note: Note) -> BareMetalPlatform:
    """Platform baremetal with all that its provisioning network needs, or without any of it.

    A cluster that knows no management controller provisions nothing, whatever is written about that.
    """
    nothing: dict[str, Any] = dict.fromkeys((*_PROVISIONING, *_OLD_PROVISIONING))
    bare = platform.but(**nothing)
    if not any(host.host.bmc and dump(host.host.bmc) for host in site.hosts):
        return bare
    given = {name: getattr(platform, name) for name in _PROVISIONING}
    given["cluster_provisioning_ip"] = given["cluster_provisioning_ip"] or platform.provisioning_host_ip
    if given["provisioning_network"] is None and platform.provisioning_dhcp_external:
        given["provisioning_network"] = ProvisioningNetwork.UNMANAGED
    keys = {field.name: key for key, field in fields_of(BareMetalPlatform).items()}
    for name, value in _provisioning_defaults(given, site).items():
        if given[name] is None:
            given[name] = value
            note(f"platform.baremetal.{keys[name]}", value, "not given; the default for hosts with a BMC")
    return bare.but(**given)


def _provisioning_defaults(given: dict[str, Any], site: Site) -> dict[str, object]:
    mode = given["provisioning_network"] or ProvisioningNetwork.MANAGED
    found: dict[str, object] = {"provisioning_network": mode}
    service = given["cluster_provisioning_ip"]
    if mode is ProvisioningNetwork.DISABLED:
        machine = derive.machine_networks(site.install.networking if site.install else None)
        around = [network for network in machine if service is not None and service in network]
        return found | ({"provisioning_network_cidr": around[0]} if around else {})
    network = given["provisioning_network_cidr"] or derive.DEFAULT_PROVISIONING_NETWORK
    found["provisioning_network_cidr"] = network
    if network.num_addresses > 10:
        found["cluster_provisioning_ip"] = network[3]
        if mode is ProvisioningNetwork.MANAGED:
            found["provisioning_dhcp_range"] = f"{network[10]},{network[-2]}"
    return found


_OLD_VSPHERE: Final = (
    "v_center", "username", "password", "datacenter", "default_datastore", "folder", "cluster",
    "resource_pool", "network",
)  # fmt: skip
_FOLDERS: Final = {"compute_cluster": "host", "datastore": "datastore", "folder": "vm"}
"""Where in a datacenter the objects are that may be named without their path."""


def settle_vsphere(platform: VSpherePlatform) -> VSpherePlatform:
    """Platform vsphere with vcenters and failureDomains in place of the fields that they replaced."""
    domains: Iterable[FailureDomain] = platform.failure_domains
    vcenters = platform.vcenters or _old_vcenters(platform)
    if not any(dump(vcenter) for vcenter in vcenters):
        # Failure domains are places in a vCenter; without one they have no effect.
        vcenters, domains = Items(), ()
    elif not platform.failure_domains:
        domains = _old_domain(platform, vcenters[0])
    elif not platform.vcenters:
        domains = [_completed(domain, platform) for domain in platform.failure_domains]
    replaced: dict[str, Any] = dict.fromkeys(_OLD_VSPHERE)
    placed = Items(tuple(_with_paths(domain) for domain in domains))
    return platform.but(vcenters=vcenters, failure_domains=placed, **replaced)


def _old_vcenters(platform: VSpherePlatform) -> Items[VCenter]:
    if not any((platform.v_center, platform.username, platform.password, platform.datacenter)):
        return Items()
    named = [platform.datacenter]
    named += [domain.topology.datacenter for domain in platform.failure_domains if domain.topology]
    vcenter = VCenter(
        server=platform.v_center,
        user=platform.username,
        password=platform.password,
        datacenters=Items(tuple(dict.fromkeys(name for name in named if name))),
    )
    return Items((vcenter,))


def _old_domain(platform: VSpherePlatform, vcenter: VCenter) -> Iterable[FailureDomain]:
    """The one failure domain that the fields of earlier releases describe, under the installer's names."""
    topology = Topology(
        datacenter=platform.datacenter,
        compute_cluster=platform.cluster,
        datastore=platform.default_datastore,
        folder=platform.folder,
        resource_pool=platform.resource_pool,
        networks=Items((platform.network,)) if platform.network else Items(),
    )
    if set(dump(topology)) - {"datacenter"}:
        yield FailureDomain(
            name="generated-failure-domain",
            region="generated-region",
            zone="generated-zone",
            server=vcenter.server,
            topology=topology,
        )


def _completed(domain: FailureDomain, platform: VSpherePlatform) -> FailureDomain:
    """A failure domain from the time when there was one vCenter, named elsewhere."""
    topology = domain.topology or Topology()
    topology = topology.but(datacenter=topology.datacenter or platform.datacenter)
    return domain.but(server=domain.server or platform.v_center, topology=topology)


def _with_paths(domain: FailureDomain) -> FailureDomain:
    topology = domain.topology
    if topology is None or not topology.datacenter:
        return domain
    paths: dict[str, Any] = {}
    for name, folder in _FOLDERS.items():
        path = getattr(topology, name)
        if path and not path.startswith("/"):
            paths[name] = join("/", topology.datacenter, folder, path)
    return domain.but(topology=topology.but(**paths)) if paths else domain
