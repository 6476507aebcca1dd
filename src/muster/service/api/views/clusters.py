# SPDX-License-Identifier: Apache-2.0
"""Clusters, as clients are shown them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from muster.model.wire.cluster import Cluster as WireCluster
from muster.model.wire.cluster import DiskEncryption, HostNetwork, ImageInfo
from muster.model.wire.host import Host as WireHost
from muster.model.wire.operators import BundleCreateParams, MonitoredOperator
from muster.service.api.views.hosts import show_host, show_peer
from muster.service.api.views.text import PREFIX, copier, json_or_none, json_text, show_verdicts
from muster.service.state import Cluster, Host
from muster.service.validations.registry import CLUSTER

_REWORDED: Final = (
    *("ignored_host_validations", "ignored_cluster_validations", "disk_encryption"),
    *("install_started_at", "install_completed_at"),
)
_copy = copier(Cluster, WireCluster, "status_info", *_REWORDED)
_FOR_HOSTS: Final = (
    *(
        "kind",
        "id",
        "href",
        "name",
        "base_dns_domain",
        "openshift_version",
        "status",
        "status_info",
    ),
    *("status_updated_at", "progress", "validations_info", "install_started_at", "install_completed_at"),
    *("total_host_count", "enabled_host_count", "ready_host_count", "monitored_operators"),
    *("api_vips", "ingress_vips", "last_installation_preparation", "high_availability_mode"),
)
NEVER: Final = datetime(1, 1, 1, tzinfo=UTC)
"""How clients know a time that has not come: one of them waits for an installation to end by it."""
_NO_ENCRYPTION: Final = DiskEncryption(enable_on="none", mode="tpmv2")


def show_cluster(
    cluster: Cluster,
    hosts: Collection[Host],
    *,
    heard: Mapping[str, datetime] | None = None,
    with_hosts: bool = True,
) -> WireCluster:
    """A cluster. All its hosts are needed even when they are not to be shown: much follows from them."""
    when = heard or {}
    return WireCluster(
        href=f"{PREFIX}/clusters/{cluster.id}",
        image_info=ImageInfo(ssh_public_key=cluster.ssh_public_key or None),
        status_info=cluster.status_info,
        high_availability_mode="None" if cluster.control_plane_count == 1 else "Full",
        pull_secret_set=bool(cluster.pull_secret),
        validations_info=show_verdicts(cluster.verdicts, CLUSTER),
        ignored_host_validations=json_or_none(cluster.ignored_host_validations),
        ignored_cluster_validations=json_or_none(cluster.ignored_cluster_validations),
        operator_bundles=_bundles(cluster.monitored_operators),
        last_installation_preparation=cluster.preparation,
        disk_encryption=cluster.disk_encryption or _NO_ENCRYPTION,
        install_started_at=cluster.install_started_at or NEVER,
        install_completed_at=cluster.install_completed_at or NEVER,
        hosts=tuple(show_host(host, cluster, heard_at=when.get(host.id)) for host in hosts)
        if with_hosts
        else None,
        **_singletons(cluster),
        **_summary(hosts),
        **_copy(cluster),
    )


def show_to_host(cluster: WireCluster, host_id: str | None) -> WireCluster:
    """A cluster as its own hosts see it: what their consoles show, and of other hosts only the progress."""
    hosts = None if cluster.hosts is None else tuple(_to_host(each, host_id) for each in cluster.hosts)
    shown = {name: getattr(cluster, name) for name in _FOR_HOSTS}
    return WireCluster(**shown, image_info=ImageInfo(), hosts=hosts)


def _to_host(host: WireHost, own_id: str | None) -> WireHost:
    return host if host.id == own_id else show_peer(host)


def _singletons(cluster: Cluster) -> dict[str, Any]:
    """The first network of each kind, for clients that know of one only."""
    found: dict[str, Any] = {}
    if cluster.cluster_networks:
        first = cluster.cluster_networks[0]
        found.update(cluster_network_cidr=first.cidr, cluster_network_host_prefix=first.host_prefix)
    if cluster.service_networks:
        found["service_network_cidr"] = cluster.service_networks[0].cidr
    if cluster.machine_networks:
        found["machine_network_cidr"] = cluster.machine_networks[0].cidr
    return found


def _summary(hosts: Collection[Host]) -> dict[str, Any]:
    """What follows from the hosts."""
    networks = _by_name((name, host.id) for host in hosts for name in host.networks)
    groups = _by_name((name, host.id) for host in hosts for name in host.groups)
    return {
        "total_host_count": len(hosts),
        "enabled_host_count": sum(1 for host in hosts if host.status != "disabled"),
        "ready_host_count": sum(1 for host in hosts if host.status == "known"),
        "host_networks": tuple(HostNetwork(cidr=cidr, host_ids=tuple(ids)) for cidr, ids in networks.items()),
        "connectivity_majority_groups": json_text(groups),
        "ip_collisions": json_text(_collisions(hosts)),
    }


def _by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, id in pairs:
        found.setdefault(name, []).append(id)
    return {name: sorted(found[name]) for name in sorted(found)}


def _collisions(hosts: Iterable[Host]) -> dict[str, list[str]]:
    """Addresses that several machines answer for, with their MACs."""
    found: dict[str, set[str]] = {}
    for host in hosts:
        for each in host.collisions:
            address, *macs = each.split()
            found.setdefault(address, set()).update(macs)
    return {address: sorted(found[address]) for address in sorted(found)}


def _bundles(operators: Iterable[MonitoredOperator]) -> tuple[BundleCreateParams, ...] | None:
    """The groups that operators were asked for with."""
    ids = {id for each in operators for id in each.source_bundles or ()}
    return tuple(BundleCreateParams(id=id) for id in sorted(ids)) or None
