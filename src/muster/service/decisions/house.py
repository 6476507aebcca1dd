# SPDX-License-Identifier: Apache-2.0
"""The one cluster of a service that people make in a browser: all hosts that met belong to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from muster.model.meeting import PLATFORM
from muster.model.setting_up import MANIFESTS
from muster.model.wire.cluster import ClusterCreateParams
from muster.model.wire.operators import MonitoredOperator
from muster.service.decisions.clusters import Seal, deregister_cluster, register_cluster
from muster.service.decisions.operators import Offered
from muster.service.house import House
from muster.service.realm import Draft
from muster.service.refusals import StateConflict
from muster.service.state import Cluster, Host
from muster.service.states.moves import adopt
from muster.service.states.words import name_of


def found_cluster(
    draft: Draft, pool: Draft, house: House, params: ClusterCreateParams, own: tuple[Seal, Offered]
) -> Cluster:
    """Make the one cluster; all hosts that are there belong to it, and all that come."""
    assert house.meeting is not None
    seal, offered = own
    if draft.realm.cluster is not None:
        raise StateConflict(
            f"there is a cluster already: {draft.realm.cluster.name}",
            hint="change that one, or start over",
        )
    if not params.pull_secret and house.pull_secret:
        params = msgspec.structs.replace(params, pull_secret=house.pull_secret)
    made = register_cluster(draft, house.meeting.cluster_id, params, seal, offered)
    draft.change(made, rivals=(), strangers={})
    pool.change(pool.infra_env, cluster_id=made.id, updated_at=pool.now)
    for host in list(pool.hosts.values()):
        adopt(pool, draft, host)
    return draft.cluster


def settle_watched(draft: Draft) -> None:
    """When the installation begins: what is waited for at its end is what the hosts tell of."""
    cluster = draft.cluster
    own = MonitoredOperator(cluster_id=cluster.id, name=PLATFORM, operator_type="builtin")
    chosen = [each for each in cluster.monitored_operators if _is_chosen(each)]
    if cluster.manifests:
        manifests = MonitoredOperator(cluster_id=cluster.id, name=MANIFESTS, operator_type="olm")
        chosen.insert(0, manifests)
    # Nobody is waited for who would complete the kubeconfig: it is complete since it was made.
    draft.change(cluster, monitored_operators=(own, *chosen), kubeconfig_given=True)


def unsettle_watched(draft: Draft) -> None:
    """When it begins again, names can change, and a kubeconfig with them."""
    draft.change(draft.cluster, kubeconfig_given=False)


def _is_chosen(operator: MonitoredOperator) -> bool:
    return operator.operator_type == "olm" and operator.name != MANIFESTS


def start_over(files: Iterable[tuple[str, str]], pool: Draft, *clusters: Draft) -> None:
    """Forget the cluster and all hosts; those that run notice it, and come again."""
    for draft in clusters:
        deregister_cluster(draft, files, pool)
    for host in list(pool.hosts.values()):
        pool.tell(host, "host_deregistered", f"Host {name_of(host)}: forgotten, because all begins again")
        pool.remove(host)
    pool.tell(
        pool.infra_env,
        "started_over",
        "All begins again: cluster and hosts were forgotten",
        severity="warning",
    )


def check_role(house: House, host: Host, values: Any) -> None:
    """The host that the service runs on begins, so it is of the control plane."""
    wanted = values.host_role
    if (
        wanted in (None, "master", "bootstrap")
        or house.mode != "interactive"
        or not house.is_rendezvous(host)
    ):
        return
    raise StateConflict(
        f"host_role: {name_of(host)} is the rendezvous host, which is of the control plane",
        hint="give another host the role, or choose another rendezvous host at the consoles",
    )
