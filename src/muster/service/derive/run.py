# SPDX-License-Identifier: Apache-2.0
"""What follows from what changed: each part looks again only when something that it reads is another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final, TypeAlias

from muster.service.derive import assignment, disks, names, networks, vips
from muster.service.derive.collisions import derive_collisions
from muster.service.derive.directory import directory_of
from muster.service.derive.groups import derive_groups
from muster.service.derive.phases import is_open, is_single_node
from muster.service.derive.roles import Fits
from muster.service.derive.tallies import recount
from muster.service.realm import Draft, Key
from muster.service.state import Host

Fields: TypeAlias = Mapping[str, set[str]]
"""By host: the fields that changed."""
_ROUTED: Final = frozenset({"inventory.interfaces", "inventory.routes"})
_DISKS: Final = _ROUTED | {
    *("inventory.disks", "inventory.cpu", "inventory.system_vendor"),
    *("role", "suggested_role", "installation_disk_id", "disk_reason"),
}
_NAMES: Final = frozenset({"inventory.hostname", "inventory.interfaces", "requested_hostname"})
_ROLES: Final = frozenset(
    {
        *(
            "inventory.cpu",
            "inventory.memory",
            "inventory.disks",
            "inventory.gpus",
            "inventory.system_vendor",
        ),
        *("inventory.interfaces", "role", "suggested_role"),
    }
)
_CLUSTER_ROLES: Final = frozenset(
    {"control_plane_count", "openshift_version", "monitored_operators", "add_ons", "status"}
)
_CLUSTER_DISKS: Final = frozenset({"openshift_version", "add_ons"})
_CLUSTER_NETWORKS: Final = frozenset(
    {
        *("api_vips", "ingress_vips", "control_plane_count", "user_managed_networking", "load_balancer"),
        *("vip_dhcp_allocation", "machine_networks", "service_networks", "cluster_networks", "status"),
    }
)


def derive(draft: Draft, changes: Mapping[Key, Set[str]], fits: Fits) -> None:
    """Apply what follows from these changes; what that changes itself is in the draft's changes."""
    hosts = {id: set(fields) for (kind, id), fields in changes.items() if kind == "host"}
    asked = {field for (kind, _), fields in changes.items() if kind == "cluster" for field in fields}
    if not asked.isdisjoint(_CLUSTER_DISKS):
        for id in draft.hosts:
            hosts.setdefault(id, set()).add("role")
    for id, fields in hosts.items():
        if (host := draft.hosts.get(id)) is not None:
            _derive_host(draft, host, fields)
    for (kind, id), fields in draft.changes.items():
        if kind == "host" and id in hosts:
            hosts[id] |= fields
    _keep_directory(draft, _with(hosts, {"inventory.interfaces"}))
    if not draft.is_pool and asked | set(hosts):
        _derive_realm(draft, hosts, asked, fits)


def _with(hosts: Fields, fields: Set[str]) -> set[str]:
    """The hosts of which one of these fields changed."""
    return {id for id, changed in hosts.items() if not changed.isdisjoint(fields)}


def _derive_host(draft: Draft, host: Host, fields: Set[str]) -> None:
    if not fields.isdisjoint(_DISKS) and is_open(host):
        draft.change(host, **disks.derive_disks(host, None if draft.is_pool else draft.cluster))
    if "inventory.interfaces" in fields:
        found = networks.networks_of(host.inventory)
        if found != host.networks:
            reached = {name: bits for name, bits in host.reached.items() if "/" not in name or name in found}
            draft.change(host, networks=found, reached=reached)
    if not fields.isdisjoint(_NAMES) and is_open(host):
        draft.change(host, **names.derive_name(host))


def _keep_directory(draft: Draft, ids: Iterable[str]) -> None:
    for id in ids:
        host = draft.hosts.get(id)
        directory = directory_of(draft.realm)
        if host is None:
            directory.forget(id)
        else:
            directory.set(host)


def _derive_realm(draft: Draft, hosts: Fields, asked: Set[str], fits: Fits) -> None:
    if ids := _with(hosts, _NAMES):
        names.derive_twins(draft, ids)
    if ids := _with(hosts, {"asked", "reached", "fencing_credentials"}):
        derive_groups(draft, ids)
    if ids := _with(hosts, {"peers"}):
        derive_collisions(draft, ids)
    _derive_machine_networks(draft, _with(hosts, {"networks"}), asked)
    if (ids := _with(hosts, {"verified_vips"})) or not asked.isdisjoint(vips.READS):
        vips.derive_vips(draft, ids, asked=not asked.isdisjoint(vips.READS))
    if (ids := _with(hosts, _ROLES)) or not asked.isdisjoint(_CLUSTER_ROLES):
        assignment.derive_roles(draft, ids, fits, asked=not asked.isdisjoint(_CLUSTER_ROLES))


def _derive_machine_networks(draft: Draft, ids: Set[str], asked: Set[str]) -> None:
    is_asked = not asked.isdisjoint(_CLUSTER_NETWORKS)
    if not ids and not is_asked:
        return
    tally, news = recount(draft, "subnets", lambda host: host.networks, ids)
    if news or is_asked or is_single_node(draft.cluster):
        values = networks.derive_machine_networks(draft.cluster, tally.counts, lambda: _first(draft))
        draft.change(draft.cluster, **values)


def _first(draft: Draft) -> Host | None:
    told = [host for host in draft.hosts.values() if host.inventory is not None]
    return min(told, key=lambda host: host.number, default=None)
