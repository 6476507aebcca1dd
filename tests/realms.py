# SPDX-License-Identifier: Apache-2.0
"""Clusters and hosts to decide about."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from muster.service.realm import Draft, Realm
from muster.service.state import Cluster, Host
from muster.service.store.port import Change

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def make_cluster(id: str = "c1") -> Cluster:
    return Cluster(
        id=id, name="ocp", status="pending-for-input", status_updated_at=NOW, created_at=NOW, updated_at=NOW
    )


def make_host(id: str = "h1") -> Host:
    return Host(
        id=id,
        infra_env_id="i1",
        status="discovering",
        status_updated_at=NOW,
        created_at=NOW,
        registered_at=NOW,
        updated_at=NOW,
    )


def decide(realm: Realm, decision: Callable[[Draft], None], now: datetime = NOW) -> Change:
    """A decision, accepted: the realm is as it will be, and what is to be written of it."""
    draft = Draft(realm, now)
    decision(draft)
    draft.apply()
    realm.version += 1
    return Change(realm.id, realm.version, tuple(draft.events), draft.touched(), draft.documents)


def begin(realm: Realm, hosts: int = 0) -> Change:
    """A cluster with hosts."""

    def decision(draft: Draft) -> None:
        draft.add(make_cluster(realm.id))
        draft.tell(draft.cluster, "cluster_registration_succeeded", "it is there")
        for number in range(hosts):
            draft.add(make_host(f"h{number}"))

    return decide(realm, decision)


def rename(realm: Realm, name: str, minutes: int = 0) -> Change:
    """A cluster gets another name."""
    return decide(
        realm, lambda draft: draft.change(draft.cluster, name=name), NOW + timedelta(minutes=minutes)
    )
