# SPDX-License-Identifier: Apache-2.0
"""Small clusters to try states on."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from muster.model.wire.host import HostProgressInfo
from muster.model.wire.inventory import Interface, Inventory
from muster.service.realm import Draft, Realm
from muster.service.state import Cluster, Host, InfraEnv, Verdict, Waiting
from muster.service.states.fitness import ClusterFitness, HostFitness

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
FIT = HostFitness(True, True, True, True)
READY = ClusterFitness(True, True)
INVENTORY = Inventory(hostname="a", interfaces=(Interface(ipv4_addresses=("192.0.2.7/24",)),))


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def make_host(id: str = "a", **values: Any) -> Host:
    at = values.pop("at", NOW)
    given: dict[str, Any] = {
        "id": id,
        "infra_env_id": "pool",
        "cluster_id": "c",
        "status": "known",
        "role": "master",
        "inventory": INVENTORY,
        "status_updated_at": at,
        "created_at": at,
        "registered_at": at,
        "updated_at": at,
    }
    return Host(**(given | values))


def make_cluster(**values: Any) -> Cluster:
    at = values.pop("at", NOW)
    given: dict[str, Any] = {
        "id": "c",
        "name": "site",
        "status": "ready",
        "status_updated_at": at,
        "created_at": at,
        "updated_at": at,
        "monitored_operators": (),
    }
    return Cluster(**(given | values))


def make_draft(hosts: Iterable[Host] = (), cluster: Cluster | None = None, now: datetime = NOW) -> Draft:
    """A draft over a cluster, or over a pool when there is none."""
    realm = Realm("r", cluster=cluster)
    if cluster is None:
        realm.infra_env = InfraEnv(id="pool", name="pool", created_at=NOW, updated_at=NOW)
    realm.hosts = {host.id: host for host in hosts}
    return Draft(realm, now)


def at_stage(stage: str | None, **values: Any) -> HostProgressInfo:
    times = {"stage_started_at": NOW, "stage_updated_at": NOW}
    return HostProgressInfo(current_stage=stage, **(times | values))  # type: ignore[arg-type]


def due(kind: str = "any") -> Waiting:
    """A deadline that has passed."""
    return Waiting(kind=kind, since=NOW - minutes(90), until=NOW)


def failed(*ids: str) -> tuple[Verdict, ...]:
    return tuple(Verdict(id=id, status="failure", message=f"{id} is wrong") for id in ids)
