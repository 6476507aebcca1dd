# SPDX-License-Identifier: Apache-2.0
"""Whatever happens, in whatever order: states stay among those that clients know, refusals are refusals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as some

from muster.model.wire.enums import FinalizingStage, HostStage
from muster.service.realm import Draft, Realm
from muster.service.refusals import Refusal
from muster.service.state import InfraEnv, kind_of
from muster.service.states import cluster as clusters
from muster.service.states import cluster_table, host_table
from muster.service.states import host as hosts
from muster.service.states.fitness import ClusterFitness, HostFitness
from muster.service.states.moves import bind, reclaim, unbind
from muster.service.states.reacting import react_states, time_passed
from muster.service.states.tally import Tally, tally_of
from tests.unit.service.states.world import NOW, make_cluster, make_host

OF_HOSTS: dict[str, Callable[[Draft, Any], object]] = {
    "register": hosts.register,
    "failed": lambda draft, host: hosts.installation_failed(draft, host, "it broke"),
    "media": hosts.media_disconnected,
    "silent": hosts.fell_silent,
    "heard": hosts.heard_again,
    "reset": hosts.reset,
    "cancel": hosts.cancel,
    "install": hosts.install_day2,
    "artifacts": hosts.artifacts,
    "collecting": lambda draft, host: hosts.logs(draft, host, "collecting"),
    "forget": lambda draft, host: draft.change(host, inventory=None),
    "remove": lambda draft, host: draft.remove(host),
}
OF_CLUSTERS: dict[str, Callable[[Draft], object]] = {
    "prepare": clusters.prepare,
    "cancel": clusters.cancel,
    "reset": clusters.reset,
    "transform": clusters.transform_to_day2,
    "made": clusters.preparation_ended,
    "not made": lambda draft: clusters.preparation_ended(draft, "no"),
    "complete": lambda draft: clusters.complete(draft, success=True),
    "broken": lambda draft: clusters.complete(draft, success=False),
    "kubeconfig": lambda draft: draft.change(draft.cluster, kubeconfig=True),
    "soft": lambda draft: draft.change(draft.cluster, org_soft_timeouts_enabled=True),
    "logs": lambda draft: clusters.logs(draft, "requested"),
}
IDS = ("a", "b", "c", "w")
host_fitness = some.builds(HostFitness, *[some.sampled_from([True, True, False])] * 4)
cluster_fitness = some.builds(ClusterFitness, *[some.sampled_from([True, True, False])] * 2)
commands = some.one_of(
    some.tuples(some.just("host"), some.sampled_from(IDS), some.sampled_from(sorted(OF_HOSTS))),
    some.tuples(some.just("stage"), some.sampled_from(IDS), some.sampled_from(get_args(HostStage))),
    some.tuples(some.just("cluster"), some.just(""), some.sampled_from(sorted(OF_CLUSTERS))),
    some.tuples(some.just("finalizing"), some.just(""), some.sampled_from(get_args(FinalizingStage))),
    some.tuples(some.just("move"), some.sampled_from(IDS), some.sampled_from(["bind", "unbind", "reclaim"])),
    some.tuples(some.just("time"), some.just(""), some.sampled_from([1, 10, 60, 24 * 60, -60])),
)


class Both:
    """A cluster and a pool."""

    def __init__(self) -> None:
        self.now = NOW
        masters = {id: make_host(id, role="worker" if id == "w" else "master") for id in IDS}
        self.cluster = Realm("c", cluster=make_cluster(), hosts=masters)
        pool = InfraEnv(id="pool", name="pool", created_at=NOW, updated_at=NOW)
        self.pool = Realm("pool", infra_env=pool)

    def place(self, id: str) -> Realm:
        return self.pool if id in self.pool.hosts else self.cluster

    def settle(self, draft: Draft, of_host: HostFitness, of_cluster: ClusterFitness) -> None:
        for _ in range(20):
            changes = draft.take_changes()
            if not changes:
                draft.apply()
                return
            react_states(draft, changes, lambda _: of_host, lambda _: of_cluster)
        raise AssertionError("it never ends")


def pass_time(world: Both, minutes: int, of_host: HostFitness, of_cluster: ClusterFitness) -> None:
    world.now += timedelta(minutes=minutes)
    for realm in (world.cluster, world.pool):
        for subject in list(realm.subjects()):
            draft = Draft(realm, world.now)
            time_passed(draft, kind_of(subject), subject.id, lambda _: of_host, lambda _: of_cluster)
            world.settle(draft, of_host, of_cluster)


def do(world: Both, command: tuple[str, str, Any], of_host: HostFitness, of_cluster: ClusterFitness) -> None:
    kind, id, what = command
    if kind == "time":
        pass_time(world, what, of_host, of_cluster)
        return
    if kind == "move":
        start, end = Draft(world.place(id), world.now), Draft(world.cluster, world.now)
        if what != "bind":
            start, end = Draft(world.cluster, world.now), Draft(world.pool, world.now)
        if id in start.hosts and start.realm is not end.realm:
            {"bind": bind, "unbind": unbind, "reclaim": reclaim}[what](start, end, start.hosts[id])
            world.settle(start, of_host, of_cluster)
            world.settle(end, of_host, of_cluster)
        return
    draft = Draft(world.place(id), world.now)
    if kind == "cluster":
        OF_CLUSTERS[what](draft)
    elif kind == "finalizing":
        clusters.finalizing_stage(draft, what)
    elif kind == "host" and what == "register":
        hosts.register(draft, make_host(id, inventory=None))
    elif id in draft.hosts:
        host = draft.hosts[id]
        _ = hosts.progress(draft, host, what) if kind == "stage" else OF_HOSTS[what](draft, host)
    world.settle(draft, of_host, of_cluster)


def refusal_of(act: Callable[[], None]) -> Refusal | None:
    try:
        act()
    except Refusal as refusal:
        return refusal
    return None


@given(some.lists(some.tuples(commands, host_fitness, cluster_fitness), max_size=40))
@settings(max_examples=150, deadline=None)
def test_nothing_leaves_the_tables(script: list[tuple[Any, HostFitness, ClusterFitness]]) -> None:
    world = Both()
    for command, of_host, of_cluster in script:
        refusal = refusal_of(lambda: do(world, command, of_host, of_cluster))  # noqa: B023  # it is called at once
        assert refusal is None or (refusal.code in (403, 409) and refusal.hint)
        cluster = world.cluster.cluster
        assert cluster is not None
        assert cluster.status in cluster_table.STATES
        for host in (*world.cluster.hosts.values(), *world.pool.hosts.values()):
            assert host.status in host_table.STATES
            resting = host.status in host_table.FINAL | host_table.RESTING
            assert resting or (host.waiting is not None and host.waiting.until is not None), host.status
        draft = Draft(world.cluster, world.now)
        kept, fresh = tally_of(draft), Tally(draft)
        assert (kept.reached, kept.stages, kept.total) == (fresh.reached, fresh.stages, fresh.total)
        assert +kept._statuses == +fresh._statuses
