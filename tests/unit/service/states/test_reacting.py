# SPDX-License-Identifier: Apache-2.0
"""States follow from each other, and from time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from muster.model.wire.cluster import ClusterProgressInfo
from muster.model.wire.operators import MonitoredOperator
from muster.service.realm import Draft, Realm
from muster.service.refusals import StateConflict
from muster.service.state import Cluster, Host
from muster.service.states import cluster as clusters
from muster.service.states import host as hosts
from muster.service.states.fitness import ClusterFitness, HostFitness
from muster.service.states.percentages import FINALIZING_WEIGHT, INSTALLING_WEIGHT, PREPARING_WEIGHT
from muster.service.states.reacting import react_states, time_passed
from muster.service.states.stages import BOOTSTRAP, MASTER
from muster.service.states.tally import Tally, tally_of
from tests.unit.service.states.world import FIT, NOW, READY, at_stage, make_cluster, make_host, minutes

UNCHECKED = HostFitness(True, True, True, False)


class World:
    """A cluster that drafts are applied to, with a clock."""

    def __init__(self, cluster: Cluster | None, *masters: Host) -> None:
        self.realm = Realm("r", cluster=cluster, hosts={each.id: each for each in masters})
        self.now: datetime = NOW
        self.fitness, self.cluster_fitness = FIT, READY
        self.names: list[str] = []

    def draft(self) -> Draft:
        return Draft(self.realm, self.now)

    def do(self, decide: Any) -> None:
        draft = self.draft()
        decide(draft)
        self.settle(draft)

    def settle(self, draft: Draft) -> None:
        for _ in range(20):
            changes = draft.take_changes()
            if not changes:
                break
            react_states(draft, changes, lambda _: self.fitness, lambda _: self.cluster_fitness)
        else:
            pytest.fail("it never ends")
        draft.apply()
        self.names += [event.name for event in draft.events if event.name]

    def change(self, id: str, **values: Any) -> None:
        self.do(lambda draft: draft.change(draft.hosts[id], **values))

    def pass_time(self, span: timedelta) -> None:
        """Time goes on, and whoever has a deadline in it is looked at."""
        self.now += span
        for id in list(self.realm.hosts):
            self._look("host", id)
        self._look("cluster", "c")

    def _look(self, kind: Any, id: str) -> None:
        self.do(
            lambda draft: time_passed(draft, kind, id, lambda _: self.fitness, lambda _: self.cluster_fitness)
        )

    @property
    def cluster(self) -> Cluster:
        assert self.realm.cluster is not None
        return self.realm.cluster

    def statuses(self) -> set[str]:
        return {each.status for each in self.realm.hosts.values()}


def three(**values: Any) -> tuple[Host, ...]:
    return tuple(make_host(id, bootstrap=id == "a", **values) for id in "abc")


def preparing() -> World:
    world = World(make_cluster(), *three())
    world.fitness = UNCHECKED
    world.do(clusters.prepare)
    return world


def installing() -> World:
    world = preparing()
    world.do(clusters.preparation_ended)
    world.fitness = FIT
    for id in "abc":
        world.change(id, requested_hostname=f"node-{id}")
    return world


def run(world: World, id: str, upto: str = "Done") -> None:
    for stage in BOOTSTRAP if id == "a" else MASTER:
        world.do(lambda draft, stage=stage: hosts.progress(draft, draft.hosts[id], stage))
        if stage == upto:
            return


def test_an_installation_from_ready_to_installed() -> None:
    world = preparing()
    assert world.statuses() == {"preparing-for-installation"}
    world.do(clusters.preparation_ended)
    assert world.cluster.status == "preparing-for-installation"
    world.fitness = FIT
    for id in "ab":
        world.change(id, requested_hostname=f"node-{id}")
    assert world.cluster.progress.preparing_for_installation_stage_percentage == 66
    world.change("c", requested_hostname="node-c")
    assert (world.cluster.status, world.statuses()) == ("installing", {"installing"})
    for id in "bca":
        run(world, id)
    assert (world.cluster.status, world.statuses()) == ("finalizing", {"installed"})
    assert world.cluster.progress.total_percentage == 80
    world.do(lambda draft: draft.change(draft.cluster, kubeconfig=True))
    assert world.cluster.status == "installed"
    assert world.cluster.progress.total_percentage == 100
    assert world.cluster.waiting is None
    assert world.names[-2:] == ["cluster_installation_completed", "cluster_status_updated"]


def test_weights_are_whole() -> None:
    assert pytest.approx(1.0) == PREPARING_WEIGHT + INSTALLING_WEIGHT + FINALIZING_WEIGHT


def test_progress_is_that_of_all_hosts() -> None:
    world = installing()
    run(world, "b", "Writing image to disk")
    assert world.cluster.progress.installing_stage_percentage == 3 * 100 // (11 + 8 + 8)


def test_a_cluster_that_is_not_ready_does_not_start() -> None:
    world = World(make_cluster(status="insufficient", status_info="no masters"))
    with pytest.raises(StateConflict, match="no masters"):
        world.do(clusters.prepare)


def test_cancelled_before_it_began() -> None:
    world = preparing()
    world.do(clusters.cancel)
    assert (world.cluster.status, world.statuses()) == ("ready", {"known"})


def test_cancelled_then_reset() -> None:
    world = installing()
    world.do(clusters.cancel)
    assert (world.cluster.status, world.statuses()) == ("cancelled", {"cancelled"})
    world.cluster_fitness = ClusterFitness(True, False, ("all-hosts-are-ready-to-install",))
    world.do(clusters.reset)
    assert (world.cluster.status, world.statuses()) == ("insufficient", {"resetting-pending-user-action"})
    assert world.cluster.install_started_at is None


def test_reset_while_preparing_reboots_nobody() -> None:
    world = preparing()
    world.do(clusters.reset)
    assert world.statuses() == {"known"}


def test_a_host_that_falls_silent_stops_the_preparation() -> None:
    world = preparing()
    world.cluster_fitness = ClusterFitness(True, False, ("all-hosts-are-ready-to-install",))
    world.do(lambda draft: hosts.fell_silent(draft, draft.hosts["b"]))
    assert world.cluster.status == "insufficient"
    assert world.statuses() == {"disconnected", "known"}
    assert world.names.count("cluster_status_updated") == 2
    world.cluster_fitness = READY
    world.do(lambda draft: hosts.heard_again(draft, draft.hosts["b"]))
    assert world.statuses() == {"known"}


def test_what_could_not_be_prepared_stays_known() -> None:
    world = preparing()
    world.do(lambda draft: clusters.preparation_ended(draft, "no release"))
    assert world.cluster.status == "ready"
    assert "no release" in world.cluster.status_info
    assert world.cluster.preparation.status == "failed"


def test_preparing_ends() -> None:
    world = preparing()
    world.pass_time(minutes(8))
    assert world.cluster.status == "ready"
    assert world.statuses() == {"known"}
    assert "was not prepared in time" in world.cluster.status_info


def test_the_cluster_stops_preparing_by_itself() -> None:
    world = preparing()
    world.fitness = FIT
    for id in "abc":
        world.change(id, requested_hostname=id)
    world.pass_time(minutes(10))
    assert world.cluster.status == "ready"
    assert "installation_preparing_timed_out" in world.names


def test_two_masters_of_three_are_too_few() -> None:
    world = installing()
    world.pass_time(minutes(20))
    assert (world.cluster.status, world.statuses()) == ("error", {"error"})
    world.pass_time(minutes(2))
    assert {each.logs_info for each in world.realm.hosts.values()} == {"timeout"}
    assert {each.waiting.kind for each in world.realm.hosts.values() if each.waiting} == {"error"}


def test_a_stage_that_takes_too_long_fails() -> None:
    world = installing()
    for id in "abc":
        run(world, id, "Writing image to disk")
    world.pass_time(minutes(29))
    assert world.cluster.status == "installing"
    world.pass_time(minutes(1))
    assert world.cluster.status == "error"
    assert world.names.count("host_stage_timed_out") == 1


def test_soft_timeouts_only_tell() -> None:
    world = installing()
    world.do(lambda draft: draft.change(draft.cluster, org_soft_timeouts_enabled=True))
    for id in "abc":
        run(world, id, "Writing image to disk")
    world.pass_time(minutes(30))
    assert world.statuses() == {"installing-in-progress"}
    assert world.names.count("host_stage_timed_out") == 3
    world.do(lambda draft: hosts.fell_silent(draft, draft.hosts["a"]))
    assert world.realm.hosts["a"].connection_timed_out
    world.pass_time(minutes(24 * 60))
    assert world.cluster.status == "error"


def test_a_host_that_does_not_come_back_waits_for_somebody_and_others_clocks_stand_still() -> None:
    world = installing()
    run(world, "a", "Waiting for control plane")
    run(world, "b", "Rebooting")
    run(world, "c")
    world.pass_time(minutes(40))
    assert world.realm.hosts["b"].status == "installing-pending-user-action"
    assert world.cluster.status == "installing-pending-user-action"
    world.pass_time(minutes(50))
    assert world.realm.hosts["a"].status == "installing-in-progress"
    world.do(lambda draft: hosts.progress(draft, draft.hosts["b"], "Configuring"))
    assert world.cluster.status == "installing"
    world.pass_time(minutes(19))
    assert world.realm.hosts["a"].status == "installing-in-progress"
    world.pass_time(minutes(1))
    assert world.realm.hosts["a"].status == "error"


def test_an_indispensable_host_is_waited_for_until_the_day_is_over() -> None:
    world = installing()
    run(world, "a", "Waiting for control plane")
    run(world, "b", "Rebooting")
    run(world, "c")
    world.pass_time(minutes(40))
    world.pass_time(minutes(60))
    assert world.realm.hosts["b"].status == "installing-pending-user-action"
    assert "host_waits_long" in world.names
    world.pass_time(minutes(24 * 60))
    assert world.cluster.status == "error"


def test_a_worker_more_or_less() -> None:
    masters = three(status="installed", progress=at_stage("Done"))
    worker = make_host("w", role="worker", status="installing-in-progress", progress=at_stage("Rebooting"))
    cluster = make_cluster(status="installing", install_started_at=NOW, kubeconfig=True)
    world = World(cluster, *masters, worker)
    world.change("w", requested_hostname="w")
    assert world.cluster.status == "finalizing"
    world.pass_time(minutes(40))
    assert world.cluster.status == "installing-pending-user-action"
    world.pass_time(minutes(60))
    assert world.realm.hosts["w"].status == "error"
    assert world.cluster.status == "installed"
    assert "without 1 of 4 hosts" in world.cluster.status_info


def finalizing(**values: Any) -> World:
    masters = three(status="installed", progress=at_stage("Done"))
    operator = MonitoredOperator(name="console", operator_type="builtin")
    given: dict[str, Any] = {"install_started_at": NOW, "monitored_operators": (operator,)}
    world = World(make_cluster(status="finalizing", **(given | values)), *masters)
    world.do(lambda draft: clusters.finalizing_stage(draft, "Adding router ca"))
    return world


def test_finalizing_stages() -> None:
    world = finalizing()
    assert world.cluster.waiting is not None
    assert world.cluster.waiting.until == NOW + minutes(70)
    world.do(lambda draft: clusters.finalizing_stage(draft, "Adding router ca"))
    assert world.names == ["cluster_finalizing_stage_updated"]
    world.pass_time(minutes(70))
    assert world.cluster.status == "error"


def test_what_is_installed_on_top_may_take_longer_and_fails_nothing() -> None:
    slow = MonitoredOperator(name="odf", operator_type="olm", timeout_seconds=3600)
    world = finalizing(monitored_operators=(slow,))
    world.do(lambda draft: clusters.finalizing_stage(draft, "Applying olm manifests"))
    world.pass_time(minutes(59))
    assert "finalizing_stage_timeout" not in world.names
    world.pass_time(minutes(1))
    assert "finalizing_stage_timeout" in world.names
    assert world.cluster.status == "finalizing"
    world.pass_time(minutes(240))
    assert world.cluster.status == "error"


def test_operators_count() -> None:
    world = finalizing(kubeconfig=True)
    assert world.cluster.progress.total_percentage == 80
    done = MonitoredOperator(name="console", operator_type="builtin", status="available")
    world.do(lambda draft: draft.change(draft.cluster, monitored_operators=(done,)))
    assert world.cluster.status == "installed"


def test_the_controller_may_say_that_it_failed() -> None:
    world = finalizing()
    world.do(lambda draft: clusters.complete(draft, success=True))
    assert world.cluster.status == "finalizing"
    world.do(lambda draft: clusters.complete(draft, success=False, why="no ingress"))
    assert (world.cluster.status, world.cluster.status_info) == ("error", "no ingress")
    with pytest.raises(StateConflict):
        world.do(lambda draft: clusters.complete(draft, success=True))


def test_stages_are_reported_while_finalizing() -> None:
    with pytest.raises(StateConflict):
        installing().do(lambda draft: clusters.finalizing_stage(draft, "Done"))


def test_logs_of_a_cluster() -> None:
    world = finalizing()
    world.do(lambda draft: clusters.complete(draft, success=False))
    world.do(lambda draft: clusters.logs(draft, "collecting"))
    assert world.cluster.waiting is not None
    assert world.cluster.waiting.kind == "logs-collecting"
    world.pass_time(minutes(60))
    assert world.cluster.logs_info == "timeout"
    world.do(lambda draft: clusters.logs(draft, "completed"))
    assert world.cluster.controller_logs_collected_at == world.now


def test_day_two() -> None:
    world = finalizing(kubeconfig=True, monitored_operators=())
    world.do(clusters.transform_to_day2)
    assert world.cluster.status == "adding-hosts"
    assert world.statuses() == {"added-to-existing-cluster"}
    assert {each.kind for each in world.realm.hosts.values()} == {"AddToExistingClusterHost"}


def test_who_waits_for_a_person_is_reminded_at_growing_distances() -> None:
    world = World(make_cluster(status="insufficient"))
    world.cluster_fitness = ClusterFitness(True, False, ("sufficient-masters-count",))
    world.do(lambda draft: draft.change(draft.cluster, name="other"))
    for _ in range(7 * 24):
        world.pass_time(minutes(60))
    assert world.names.count("cluster_waits_long") == 3


def test_a_clock_that_jumps_back_breaks_nothing() -> None:
    world = installing()
    world.pass_time(-timedelta(days=365))
    world.do(lambda draft: hosts.progress(draft, draft.hosts["a"], "Installing"))
    assert world.realm.hosts["a"].waiting is not None
    assert world.cluster.status == "installing"


def test_a_pool_has_no_cluster() -> None:
    world = World(None, make_host(status="discovering-unbound"))
    world.change("a", requested_hostname="n")
    assert world.statuses() == {"known-unbound"}


# Sums


def counted(tally: Tally) -> tuple[object, ...]:
    return tally.total, tally.reached, tally.stages, +tally._statuses, +tally._roles


def test_sums_are_what_counting_gives() -> None:
    world = installing()
    run(world, "b", "Rebooting")
    run(world, "a", "Installing")
    world.do(lambda draft: draft.remove(draft.hosts["c"]))
    world.change("a", role="worker")
    draft = world.draft()
    assert counted(tally_of(draft)) == counted(Tally(draft))


def test_a_draft_that_is_thrown_away_leaves_no_trace() -> None:
    world = preparing()
    for _ in range(2):
        lost = world.draft()
        clusters.cancel(lost)
        react_states(lost, lost.take_changes(), lambda _: UNCHECKED, lambda _: READY)
        assert tally_of(lost).count("known") == 3
    assert tally_of(world.draft()).count("preparing-for-installation") == 3
    world.do(clusters.cancel)
    assert world.statuses() == {"known"}


def test_one_hosts_reply_costs_no_walk_over_all() -> None:
    world = World(make_cluster(), *(make_host(str(number)) for number in range(100)))
    world.change("1", requested_hostname="x")
    asked: list[str] = []

    def fitness(host: Host) -> HostFitness:
        asked.append(host.id)
        return FIT

    draft = world.draft()
    draft.change(draft.hosts["7"], requested_hostname="y")
    react_states(draft, draft.take_changes(), fitness, lambda _: READY)
    assert asked == ["7"]


def test_percentages_stay_when_it_is_over() -> None:
    world = installing()
    run(world, "b", "Installing")
    before = world.cluster.progress
    world.do(clusters.cancel)
    assert world.cluster.progress == before
    assert msgspec.structs.replace(before) != ClusterProgressInfo(total_percentage=0)
