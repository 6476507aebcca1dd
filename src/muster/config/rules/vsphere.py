# SPDX-License-Identifier: Apache-2.0
"""Platform vsphere: vCenters, and the failure domains in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import join
from typing import Final

from muster.config.document import edit
from muster.config.rules.machines import UUID, is_empty, platform_section
from muster.config.spelling import closest, is_typo, near_names
from muster.model.platform.vsphere import (
    FailureDomain,
    RegionType,
    Topology,
    VCenter,
    VSpherePlatform,
    ZoneType,
)
from muster.model.problem import Place, Problem, problem
from muster.model.schema import Model, fields_of
from muster.model.site import Site

_LOGIN: Final = {"server": "server", "user": "user", "password": "password", "datacenters": "datacenters"}
_OLD_LOGIN: Final = {
    "v_center": "vCenter", "username": "username", "password": "password", "datacenter": "datacenter",
}  # fmt: skip
_OLD_TOPOLOGY: Final = {
    "datacenter": "datacenter",
    "default_datastore": "datastore",
    "folder": "folder",
    "cluster": "compute_cluster",
    "resource_pool": "resource_pool",
}
_NEEDED: Final = {
    "datacenter": "datacenter",
    "datastore": "datastore",
    "compute_cluster": "computeCluster",
    "networks": "networks",
}
_KINDS: Final = {"datastore": "datastore", "folder": "vm", "compute_cluster": "host", "resource_pool": "host"}
_EXAMPLES: Final = {
    "datastore": "/dc1/datastore/store1",
    "folder": "/dc1/vm/folder1",
    "compute_cluster": "/dc1/host/cluster1",
    "resource_pool": "/dc1/host/cluster1/Resources/pool1",
}
_MOST: Final = 10
_TAG: Final = re.compile(rf"urn:vmomi:InventoryServiceTag:{UUID}:[^:]+\Z")


def _has_login(platform: VSpherePlatform) -> bool:
    if platform.vcenters:
        return any(not is_empty(each, name) for each in platform.vcenters for name in _LOGIN)
    return any(not is_empty(platform, name) for name in _OLD_LOGIN)


def check_logins(site: Site) -> Iterator[Problem]:
    """The login at a vCenter is given in full, or not at all."""
    platform = platform_section(site, VSpherePlatform)
    if platform is None:
        return
    logins: list[tuple[Model, dict[str, str]]] = [(each, _LOGIN) for each in platform.vcenters]
    if not platform.vcenters and not platform.is_unread("vcenters"):
        logins.append((platform, _OLD_LOGIN))
    for login, fields in logins:
        missing = [key for name, key in fields.items() if is_empty(login, name)]
        if missing and len(missing) < len(fields):
            given = next(name for name in fields if not is_empty(login, name))
            at = Place.of_key(login.at(given))
            yield problem("vcenter-incomplete", at, missing=", ".join(missing), given=fields[given])


def check_old_fields(site: Site) -> Iterator[Problem]:
    """The fields of earlier releases say nothing else than those that replaced them."""
    platform = platform_section(site, VSpherePlatform)
    if platform is None:
        return
    keys = {field.name: field.key for field in fields_of(VSpherePlatform).values()}
    for name, instead, known in _replaced(platform):
        found = getattr(platform, name)
        if not found or not known or found in known:
            continue
        if isinstance(found, str) and found.rpartition("/")[2] in {
            str(each).rpartition("/")[2] for each in known
        }:
            continue
        yield problem("vsphere-old-field", Place.of_key(platform.at(name)), key=keys[name], instead=instead)


def _replaced(platform: VSpherePlatform) -> Iterator[tuple[str, str, list[object]]]:
    """Old fields, what is read instead of them, and what stands there."""
    for name, new in (("v_center", "server"), ("username", "user"), ("password", "password")):
        yield name, "vcenters", [getattr(each, new) for each in platform.vcenters]
    for name, new in _OLD_TOPOLOGY.items():
        if name == "datacenter" and not platform.vcenters:
            continue  # It stands in for the datacenter of a failure domain that names none.
        topologies = [domain.topology for domain in platform.failure_domains if domain.topology]
        yield name, "failureDomains", [getattr(topology, new) for topology in topologies]
    networks = [
        each for domain in platform.failure_domains if domain.topology for each in domain.topology.networks
    ]
    yield "network", "failureDomains", list(networks)


def check_domains(site: Site) -> Iterator[Problem]:
    """Every failure domain is complete, and has its name and zone for itself."""
    platform = platform_section(site, VSpherePlatform)
    if platform is None:
        return
    names: dict[str, FailureDomain] = {}
    zones: dict[tuple[str, str], FailureDomain] = {}
    for domain in platform.failure_domains:
        missing = list(_missing(platform, domain))
        if missing:
            name = domain.name or "this failure domain"
            yield problem(
                "failure-domain-incomplete", Place.of(domain.node), name=name, missing=", ".join(missing)
            )
        if domain.name and names.setdefault(domain.name, domain) is not domain:
            line = Place.of(names[domain.name].at("name")).line
            yield problem("failure-domain-twice", domain.at("name"), value=domain.name, line=line)
        if domain.zone and domain.region:
            before = zones.setdefault((domain.region, domain.zone), domain)
            if before is not domain:
                line = Place.of(before.at("zone")).line
                yield problem(
                    "zone-twice", domain.at("zone"), value=domain.zone, region=domain.region, line=line
                )


def _missing(platform: VSpherePlatform, domain: FailureDomain) -> Iterator[str]:
    """What a failure domain lacks; server and datacenter of earlier releases stand in for its own."""
    if is_empty(domain, "server") and platform.vcenters:
        yield "server"
    topology = domain.topology
    if topology is None:
        return
    for name, key in _NEEDED.items():
        stands_in = name == "datacenter" and not platform.vcenters and platform.datacenter
        if is_empty(topology, name) and not stands_in:
            yield f"topology.{key}"
    if is_empty(topology, "folder") and _has_login(platform):
        yield "topology.folder"


def check_old_folder(site: Site) -> Iterator[Problem]:
    """The failure domain that is made of the fields of earlier releases has a folder."""
    platform = platform_section(site, VSpherePlatform)
    if platform is None or platform.failure_domains or platform.is_unread("failure_domains"):
        return
    if is_empty(platform, "folder") and _has_login(platform):
        at = Place.of_key(platform.node)
        yield problem("failure-domain-incomplete", at, name="platform vsphere", missing="folder")


def check_servers(site: Site) -> Iterator[Problem]:
    """A failure domain is in one of the vCenters, and there in one of its datacenters."""
    platform = platform_section(site, VSpherePlatform)
    if platform is None or platform.is_unread("vcenters"):
        return
    known = {vcenter.server: vcenter for vcenter in platform.vcenters if vcenter.server}
    if not known and platform.v_center:
        known = {platform.v_center: VCenter()}
    for domain in platform.failure_domains:
        if not domain.server:
            continue
        if domain.server not in known:
            close = near_names(domain.server, known)
            hint = f"; did you mean {close[0]}?" if close else ""
            certain = len(close) == 1 and is_typo(domain.server, close[0])
            edits = edit.replace_scalar(domain.at("server"), close[0]) if certain else ()
            listed = ", ".join(known) or "none"
            yield problem(
                "failure-domain-server",
                domain.at("server"),
                value=domain.server,
                hint=hint,
                known=listed,
                edits=edits,
            )
        elif domain.topology is not None:
            yield from _check_datacenter(domain.topology, known[domain.server])


def _check_datacenter(topology: Topology, vcenter: VCenter) -> Iterator[Problem]:
    datacenter = topology.datacenter
    if datacenter and vcenter.datacenters and datacenter not in vcenter.datacenters:
        known = ", ".join(vcenter.datacenters)
        at = topology.at("datacenter")
        yield problem("failure-domain-datacenter", at, value=datacenter, server=vcenter.server, known=known)


def check_paths(site: Site) -> Iterator[Problem]:
    """Objects in a vCenter are named by their full path, in the datacenter of the failure domain."""
    platform = platform_section(site, VSpherePlatform)
    keys = {field.name: field.key for field in fields_of(Topology).values()}
    for domain in platform.failure_domains if platform else ():
        topology = domain.topology
        for name, kind in _KINDS.items() if topology else ():
            path = getattr(topology, name)
            if topology is not None and path:
                yield from _check_path(topology, keys[name], path, (name, kind))


def _check_path(topology: Topology, key: str, path: str, about: tuple[str, str]) -> Iterator[Problem]:
    name, kind = about
    at = topology.at(name)
    if not path.startswith("/") and name != "resource_pool":
        if topology.datacenter:
            right = join("/", topology.datacenter, kind, path)
            yield problem(
                "vsphere-relative-path",
                at,
                key=key,
                value=path,
                right=right,
                edits=edit.replace_scalar(at, right),
            )
        return
    found = re.match(rf"/(?P<datacenter>.+?)/{kind}/(?P<rest>.+)\Z", path)
    depth = 2 if name == "resource_pool" else 1
    if found is None or len(found["rest"].split("/")) < depth:
        yield problem("vsphere-path", at, key=key, value=path, example=_EXAMPLES[name])
        return
    datacenter = topology.datacenter
    if datacenter and found["datacenter"].rpartition("/")[2] != datacenter.rpartition("/")[2]:
        yield problem("vsphere-other-place", at, key=key, value=path, what="datacenter", right=datacenter)
    elif name == "resource_pool" and topology.compute_cluster:
        cluster = topology.compute_cluster.rstrip("/").rpartition("/")[2]
        if cluster not in found["rest"].split("/"):
            yield problem(
                "vsphere-other-place", at, key=key, value=path, what="computeCluster", right=cluster
            )


def check_types(site: Site) -> Iterator[Problem]:
    """Region and zone are things of which one contains the other."""
    platform = platform_section(site, VSpherePlatform)
    for domain in platform.failure_domains if platform else ():
        region, zone = domain.region_type, domain.zone_type
        if domain.is_unread("region_type") or domain.is_unread("zone_type"):
            continue
        if (region is None) != (zone is None):
            name, other = ("region_type", "zoneType") if region else ("zone_type", "regionType")
            yield problem("region-and-zone", domain.at(name), what=f"{other} is missing beside it")
        elif region is RegionType.COMPUTE_CLUSTER and zone is not ZoneType.HOST_GROUP:
            what = "in a region ComputeCluster zones are HostGroup"
            yield problem("region-and-zone", domain.at("zone_type"), what=what)
        elif zone is ZoneType.HOST_GROUP and domain.topology and is_empty(domain.topology, "host_group"):
            yield problem(
                "region-and-zone", domain.at("zone_type"), what="a zone HostGroup needs topology.hostGroup"
            )


def check_lists(site: Site) -> Iterator[Problem]:
    """Networks and tags of a failure domain are not too many, and tags are named by their id."""
    platform = platform_section(site, VSpherePlatform)
    for domain in platform.failure_domains if platform else ():
        topology = domain.topology
        if topology is None:
            continue
        for name, key in (("networks", "networks"), ("tag_ids", "tagIDs")):
            count = len(getattr(topology, name))
            if count > _MOST:
                yield problem(
                    "vsphere-too-many", Place.of_key(topology.at(name)), key=key, count=count, most=_MOST
                )
        for tag, node in topology.tag_ids.located():
            if not _TAG.match(tag):
                yield problem("vsphere-tag", node, value=tag)
        if topology.template and platform and platform.cluster_os_image:
            yield problem("template-and-image", topology.at("template"))


def check_node_networking(site: Site) -> Iterator[Problem]:
    """The network that node addresses come from is one of the machines' networks."""
    platform = platform_section(site, VSpherePlatform)
    networking = platform.node_networking if platform else None
    if platform is None or networking is None:
        return
    topologies = [domain.topology for domain in platform.failure_domains if domain.topology]
    known = [network for topology in topologies for network in topology.networks]
    known += [platform.network] if platform.network else []
    for part in (networking.internal, networking.external):
        if part is None or not part.network or part.network in known:
            continue
        right = closest(part.network, known)
        hint = f"; did you mean {right}?" if right else ""
        yield problem(
            "node-network",
            part.at("network"),
            value=part.network,
            hint=hint,
            known=", ".join(known) or "none",
        )


RULES: Final = (
    check_logins,
    check_old_fields,
    check_domains,
    check_old_folder,
    check_servers,
    check_paths,
    check_types,
    check_lists,
    check_node_networking,
)
