# SPDX-License-Identifier: Apache-2.0
"""What a watcher may see, for stories to be made of."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from muster.client.presence import Aim, Goal
from muster.client.snapshot import (
    KubernetesSight,
    Node,
    Reason,
    ServiceSight,
    Snapshot,
    Trouble,
    WaitingHost,
    Why,
)
from muster.model.wire.cluster import Cluster, ClusterProgressInfo, ImageInfo
from muster.model.wire.host import Host, HostProgressInfo

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "https://192.0.2.10:8090"
REFUSED = ServiceSight(Trouble.SILENT, "connection refused")
STRANGER = ServiceSight(
    Trouble.CERTIFICATE, "its certificate is not accepted: unable to get local issuer certificate"
)


def aim(goal: Goal = Goal.INSTALL, patience_s: float = 6000, **values: Any) -> Aim:
    return Aim(
        goal=goal,
        patience_s=patience_s,
        name="alpha.example.com",
        url=URL,
        address="192.0.2.10",
        since="12:00:00 UTC",
        **{"nodes": ("m-0", "m-1"), "count": 2, "hosts_line": "192.0.2.5 api.alpha.example.com", **values},
    )


def verdicts(**failing: str) -> str:
    """Validations that fail, by id with dashes for underscores, beside one that does not."""
    found = [{"id": "connected", "status": "success", "message": "fine"}]
    found += [
        {"id": id.replace("_", "-"), "status": "failure", "message": text} for id, text in failing.items()
    ]
    return json.dumps({"network": found})


def host(name: str = "m-0", status: str = "known", stage: str | None = None, **values: Any) -> Host:
    progress = HostProgressInfo(current_stage=stage) if stage else None  # type: ignore[arg-type]
    return Host(
        kind="Host",
        id=f"id-{name}",
        href="",
        status=status,  # type: ignore[arg-type]
        status_info=values.pop("status_info", "as it is"),
        requested_hostname=name or None,
        progress=values.pop("progress", progress),
        **values,
    )


def cluster(status: str = "ready", hosts: tuple[Host, ...] = (), percent: int = 0, **values: Any) -> Cluster:
    return Cluster(
        kind="Cluster",
        id="c",
        href="",
        image_info=ImageInfo(),
        status=status,  # type: ignore[arg-type]
        status_info=values.pop("status_info", f"it is {status}"),
        hosts=hosts,
        progress=ClusterProgressInfo(total_percentage=percent),
        **values,
    )


def reason(id: str, *hosts: str, **values: Any) -> Reason:
    return Reason(
        id=id,
        of="host" if hosts else "cluster",
        message=values.pop("message", f"{id} is awaited"),
        since=NOON,
        who=values.pop("who", "user"),
        fix=values.pop("fix", f"do something about {id}"),
        hosts=tuple(WaitingHost(id=f"id-{name}", name=name, message=f"{name} waits") for name in hosts),
        **values,
    )


def seen(status: str = "ready", *hosts: Host, why: tuple[Reason, ...] = (), **values: Any) -> Snapshot:
    """The service shows a cluster."""
    api = values.pop("api", None)
    sight = ServiceSight(
        at=NOON + timedelta(minutes=10), cluster=cluster(status, hosts, **values), why=Why(reasons=why)
    )
    return Snapshot(sight, api)


def api(**nodes: bool) -> KubernetesSight:
    """Of a cluster that is set up, with nodes that are ready or not, by name with dashes for underscores."""
    return KubernetesSight(
        is_ready=True,
        is_set_up=True,
        nodes=tuple(Node(name.replace("_", "-"), is_ready) for name, is_ready in nodes.items()),
    )
