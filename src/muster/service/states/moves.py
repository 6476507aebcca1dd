# SPDX-License-Identifier: Apache-2.0
"""A host goes from its pool to a cluster, and back: it leaves one realm and is born in the other."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from muster.model.wire.host import HostProgressInfo
from muster.service.realm import Draft
from muster.service.refusals import StateConflict
from muster.service.state import Host
from muster.service.states.host import ACCEPTING, cancel, fire, take_number
from muster.service.states.host_rows import PREPARING
from muster.service.states.sight import HostSight, cluster_of
from muster.service.states.table import Trigger
from muster.service.states.waits import host_waiting
from muster.service.states.words import name_of

_PREPARED: Final = frozenset(PREPARING.split())
_NOBODYS: Final[dict[str, Any]] = {
    "kind": "Host",
    "role": "auto-assign",
    "suggested_role": "auto-assign",
    "role_reason": "",
    "bootstrap": False,
    "machine_config_pool_name": "",
    "ignition_endpoint_token": "",
    "ignition_endpoint_http_headers": "",
    "node_labels": "",
    "fencing_credentials": "",
    "images": (),
    "asked": "",
    "reached": {},
    "peers": {},
    "reports": {},
    "resolutions": None,
    "verified_vips": None,
    "free_addresses": None,
    "api_vip_connectivity": None,
    "tang_connectivity": None,
    "groups": (),
    "twins": (),
    "collisions": (),
    "verdicts": (),
    "progress": HostProgressInfo(),
    "install_step": "",
    "connection_timed_out": False,
    "logs_info": "",
    "logs_started_at": None,
    "logs_collected_at": None,
}
"""What a host has only as a part of a cluster."""


def bind(pool: Draft, end: Draft, host: Host) -> Host:
    """A pool's host becomes one of a cluster; it has to register there."""
    cluster = end.cluster
    if cluster.status not in ACCEPTING:
        raise StateConflict(
            f"cluster {cluster.name} is {cluster.status} and takes in no hosts",
            hint="wait until it is installed, or reset it",
        )
    moved = _leave(pool, host, "bind", "given to a cluster")
    day_2 = cluster.kind == "AddHostsCluster"
    return _arrive(
        end,
        msgspec.structs.replace(
            moved,
            cluster_id=cluster.id,
            kind="AddToExistingClusterHost" if day_2 else "Host",
            verdicts=(),
        ),
        f"Host {name_of(host)}: bound to cluster {cluster.name}",
        "host_bind_succeeded",
    )


def adopt(pool: Draft, end: Draft, host: Host) -> Host:
    """A pool's host belongs to a cluster from now on, as if it had registered there; it need not notice."""
    pool.remove(host)
    pool.documents.update({(host.id, name): None for name in host.reports})
    new = msgspec.structs.replace(
        host,
        **{**_NOBODYS, "cluster_id": end.cluster.id, "status": "discovering"},
        status_info="The host belongs to the cluster now, and is looked at again",
        status_updated_at=end.now,
        updated_at=end.now,
    )
    return _arrive(
        end, new, f"Host {name_of(host)}: belongs to cluster {end.cluster.name} now", "host_bind_succeeded"
    )


def unbind(start: Draft, pool: Draft, host: Host) -> Host:
    """A cluster's host goes back to its pool."""
    return _give_back(start, pool, host, "unbind")


def reclaim(start: Draft, pool: Draft, host: Host) -> Host:
    """An installed host is booted back into its pool without anybody going there."""
    return _give_back(start, pool, host, "reclaim")


def abandon(start: Draft, pool: Draft, host: Host) -> None:
    """A cluster is deleted: a host that was lent to it goes back to its pool, if there is a way back."""
    try:
        unbind(start, pool, cancel(start, host) if host.status in _PREPARED else host)
    except StateConflict:
        start.remove(host)


def _give_back(start: Draft, pool: Draft, host: Host, trigger: Trigger) -> Host:
    if start.is_pool:
        raise StateConflict(f"host {name_of(host)} is in no cluster", hint="bind it to one first")
    message = f"Host {name_of(host)}: unbound from cluster {start.cluster.name}"
    moved = _leave(start, host, trigger, "given back")
    nobodys = msgspec.structs.replace(moved, cluster_id=None, **_NOBODYS)
    return _arrive(pool, nobodys, message, "host_unbind_succeeded")


def _leave(start: Draft, host: Host, trigger: Trigger, verb: str) -> Host:
    if fire(start, trigger, HostSight(start, host)) is None:
        raise StateConflict(
            f"host {name_of(host)} is {host.status} and cannot be {verb}",
            hint="a host of a pool must be known, and none may be in the middle of preparing",
        )
    moved = start.hosts[host.id]
    start.remove(moved)
    start.documents.update({(moved.id, name): None for name in moved.reports})
    return msgspec.structs.replace(moved, reports={})


def _arrive(end: Draft, host: Host, message: str, name: str) -> Host:
    new = msgspec.structs.replace(host, number=take_number(end))
    end.add(msgspec.structs.replace(new, waiting=host_waiting(new, cluster_of(end))))
    end.tell(new, name, message)
    return end.hosts[host.id]
