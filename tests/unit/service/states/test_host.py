# SPDX-License-Identifier: Apache-2.0
"""Hosts register, report, fall silent, and go back and forth between pools and clusters."""

from __future__ import annotations

from typing import Any

import pytest

from muster.model.wire.cluster import LastInstallationPreparation
from muster.service.refusals import Forbidden, StateConflict, Unavailable
from muster.service.state import Host
from muster.service.states import host as states
from muster.service.states.moves import bind, reclaim, unbind
from muster.service.states.stages import BOOTSTRAP, MASTER, SINGLE, WORKER, stages_of
from tests.unit.service.states.world import (
    INVENTORY,
    NOW,
    at_stage,
    make_cluster,
    make_draft,
    make_host,
    minutes,
)

# Register


@pytest.mark.parametrize("status", ["insufficient", "ready", "pending-for-input", "adding-hosts"])
def test_a_new_host_is_taken_in(status: str) -> None:
    draft = make_draft([], make_cluster(status=status, hosts_seen=4))
    host = states.register(draft, make_host(inventory=None))
    assert (host.status, host.number, draft.cluster.hosts_seen) == ("discovering", 4, 5)
    assert host.waiting is not None
    assert [event.name for event in draft.events] == ["", "host_registration_succeeded"]


@pytest.mark.parametrize("status", ["preparing-for-installation", "installing", "installed", "cancelled"])
def test_a_new_host_comes_too_late(status: str) -> None:
    draft = make_draft([], make_cluster(status=status))
    with pytest.raises(StateConflict):
        states.register(draft, make_host())
    assert not draft.events


def test_an_infra_env_has_so_many_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "MOST_HOSTS", 2)
    others = [make_host(number, infra_env_id="other") for number in ("1", "2", "3")]
    own = [make_host(number) for number in ("4", "5")]
    draft = make_draft([*others, own[0]], make_cluster())
    states.register(draft, own[1])
    with pytest.raises(Unavailable, match="has 2 hosts already"):
        states.register(draft, make_host("6"))
    assert states.register(draft, own[0]).id == own[0].id, "those that are known may come back"


def abandoned(id: str, **values: Any) -> Host:
    known: dict[str, Any] = {"silent": True, "status": "disconnected", "role": "auto-assign"}
    return make_host(id, **known | {"inventory": None, "registered_at": NOW - minutes(int(id))} | values)


def test_the_oldest_abandoned_host_gives_way_when_an_infra_env_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(states, "MOST_HOSTS", 3)
    others = [abandoned("9", infra_env_id="other", number=9)]
    own = [abandoned(number, number=int(number)) for number in ("7", "8", "6")]
    draft = make_draft([*others, *own], make_cluster(hosts_seen=10))
    found = states.register(draft, make_host("1"))
    assert [each.name for each in draft.events if each.name] == [
        "host_gave_way",
        "host_registration_succeeded",
    ]
    assert own[1].id not in draft.hosts
    assert others[0].id in draft.hosts
    assert (found.number, draft.cluster.hosts_seen) == (8, 10), "sets of numbers do not grow"


def test_a_number_that_others_have_heard_of_is_not_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "MOST_HOSTS", 1)
    peer = make_host("9", infra_env_id="other", asked=f"{1 << 7:x}")
    draft = make_draft([peer, abandoned("7", number=7)], make_cluster(hosts_seen=10))
    assert states.register(draft, make_host("1")).number == 10


@pytest.mark.parametrize(
    "values",
    [
        {"silent": False},
        {"status": "known"},
        {"inventory": INVENTORY},
        {"registered_at": NOW - minutes(4)},
        {"role": "worker"},
        {"requested_hostname": "worker-1"},
        {"node_labels": '{"a": "b"}'},
        {"installation_disk_id": "/dev/sda"},
    ],
    ids=lambda values: next(iter(values)),
)
def test_a_host_that_is_there_or_decided_about_does_not_give_way(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, Any]
) -> None:
    monkeypatch.setattr(states, "MOST_HOSTS", 1)
    draft = make_draft([abandoned("7", **values)], make_cluster())
    with pytest.raises(Unavailable, match="has 1 hosts already"):
        states.register(draft, make_host("1"))


def test_a_new_host_in_a_pool() -> None:
    draft = make_draft()
    host = states.register(draft, make_host(cluster_id="c"))
    assert (host.status, host.cluster_id) == ("discovering-unbound", None)
    assert draft.infra_env.hosts_seen == 1


def test_a_host_for_a_cluster_that_exists() -> None:
    draft = make_draft([], make_cluster(status="adding-hosts", kind="AddHostsCluster"))
    assert states.register(draft, make_host()).kind == "AddToExistingClusterHost"


def test_what_a_host_told_before_it_booted_is_forgotten() -> None:
    draft = make_draft(
        [make_host(bootstrap=True, progress=at_stage("Installing"), silent=True, images=())], make_cluster()
    )
    host = states.register(draft, make_host(discovery_agent_version="2"))
    assert (host.status, host.inventory, host.bootstrap, host.silent) == ("discovering", None, False, False)
    assert host.progress.current_stage is None
    assert host.discovery_agent_version == "2"


def test_a_single_node_stays_the_bootstrap() -> None:
    draft = make_draft([make_host(bootstrap=True)], make_cluster(control_plane_count=1))
    assert states.register(draft, make_host()).bootstrap


def test_a_host_that_boots_while_it_is_prepared_is_prepared_again() -> None:
    made = LastInstallationPreparation(status="success")
    cluster = make_cluster(status="preparing-for-installation", preparation=made)
    draft = make_draft([make_host(status="preparing-successful", bootstrap=True)], cluster)
    host = states.register(draft, make_host())
    assert (host.status, host.inventory, host.bootstrap) == ("known", INVENTORY, True)
    assert draft.cluster.preparation.status == "not_started"


def test_the_wrong_boot_order_is_forbidden_the_second_time() -> None:
    host = make_host(status="installing-in-progress", progress=at_stage("Rebooting"))
    draft = make_draft([host], make_cluster(status="installing"))
    host = states.register(draft, host)
    assert host.status == "installing-pending-user-action"
    with pytest.raises(Forbidden) as caught:
        states.register(draft, host)
    assert caught.value.code == 403


def test_a_host_that_loses_power_while_it_is_written_is_installed_anew_a_few_times() -> None:
    writing = at_stage("Writing image to disk")
    draft = make_draft(
        [make_host(status="installing-in-progress", progress=writing, install_step="install-1")],
        make_cluster(status="installing"),
    )
    for number in (1, 2, 3):
        host = states.register(draft, make_host())
        assert (host.status, host.restarts, host.disk_unsure) == ("installing", number, True)
        assert (host.progress.current_stage, host.install_step, host.inventory) == (None, "", INVENTORY)
        draft.change(host, status="installing-in-progress", progress=writing)
    told = [event.message for event in draft.events if event.name == "host_installation_repeated"]
    assert len(told) == 3
    assert "installed anew (no. 3)" in told[-1]
    host = states.register(draft, make_host())
    assert host.status == "error"
    assert "for the fourth time" in host.status_info


def test_a_host_that_is_silent_while_it_is_written_is_waited_for_until_its_stage_ends() -> None:
    host = make_host(status="installing-in-progress", progress=at_stage("Writing image to disk"))
    draft = make_draft([host], make_cluster(status="installing"))
    states.fell_silent(draft, host)
    states.refresh(draft, draft.hosts["a"])
    host = draft.hosts["a"]
    assert (host.status, host.connection_timed_out) == ("installing-in-progress", True)
    assert host.waiting is not None
    assert (host.waiting.kind, host.waiting.until) == ("lost", NOW + minutes(30))
    assert "approve it, and it is installed again" in host.waiting.action


@pytest.mark.parametrize("status", ["installed", "disabled"])
def test_an_installed_host_is_refused(status: str) -> None:
    draft = make_draft([make_host(status=status)], make_cluster(status="installing"))
    with pytest.raises(StateConflict) as caught:
        states.register(draft, make_host())
    assert caught.value.code == 409
    assert caught.value.hint


def test_a_failed_host_is_accepted_and_stays_failed() -> None:
    draft = make_draft([make_host(status="error", status_info="it broke")], make_cluster())
    host = states.register(draft, make_host())
    assert (host.status, host.status_info) == ("error", "it broke")


# Progress


def test_stages_of_each_role() -> None:
    cluster = make_cluster()
    assert stages_of(make_host(bootstrap=True), cluster) == BOOTSTRAP
    assert stages_of(make_host(role="arbiter"), cluster) == MASTER
    assert stages_of(make_host(role="auto-assign", suggested_role="worker"), cluster) == WORKER
    assert stages_of(make_host(bootstrap=True), make_cluster(control_plane_count=1)) == SINGLE
    assert [len(each) for each in (BOOTSTRAP, MASTER, WORKER, SINGLE)] == [11, 8, 9, 8]


def test_progress_is_counted() -> None:
    draft = make_draft([make_host(status="installing")], make_cluster(status="installing"))
    host = states.progress(draft, draft.hosts["a"], "Writing image to disk", "5%")
    assert host.status == "installing-in-progress"
    assert host.progress.installation_percentage == 37
    assert host.waiting is not None
    assert host.waiting.kind == "stage"
    assert [event.name for event in draft.events] == ["host_install_progress_updated", "host_status_updated"]


def test_the_same_again_is_nothing() -> None:
    host = make_host(status="installing-in-progress", progress=at_stage("Installing", progress_info=""))
    draft = make_draft([host], make_cluster(status="installing"))
    states.progress(draft, host, "Installing")
    assert not draft.events


def test_another_percentage_is_no_news() -> None:
    host = make_host(status="installing-in-progress", status_info="Writing image to disk")
    draft = make_draft([host], make_cluster(status="installing"))
    host = states.progress(draft, host, "Writing image to disk", "5%")
    draft.events.clear()
    states.progress(draft, host, "Writing image to disk", "10%")
    assert [event.name for event in draft.events] == [""]


@pytest.mark.parametrize("stage", ["Starting installation", "Waiting for ignition", "no such stage"])
def test_no_way_back_and_no_other_roles_stage(stage: str) -> None:
    host = make_host(status="installing-in-progress", progress=at_stage("Installing"))
    draft = make_draft([host], make_cluster(status="installing"))
    with pytest.raises(StateConflict):
        states.progress(draft, host, stage)
    assert not draft.events


def test_no_progress_without_an_installation() -> None:
    draft = make_draft([make_host()], make_cluster())
    with pytest.raises(StateConflict):
        states.progress(draft, draft.hosts["a"], "Installing")


def test_a_failed_stage() -> None:
    host = make_host(status="installing-in-progress", progress=at_stage("Installing"))
    draft = make_draft([host], make_cluster(status="installing"))
    host = states.progress(draft, host, "Failed", "no space left")
    assert (host.status, host.status_info) == ("error", "Failed - no space left")
    assert host.progress.current_stage == "Installing"


def test_a_host_that_is_added_is_done_when_it_reboots() -> None:
    cluster = make_cluster(status="adding-hosts", kind="AddHostsCluster")
    draft = make_draft([make_host(role="worker")], cluster)
    host = states.install_day2(draft, draft.hosts["a"])
    host = states.progress(draft, host, "Rebooting")
    assert host.status == "added-to-existing-cluster"
    assert (host.progress.current_stage, host.progress.installation_percentage) == ("Done", 100)


def test_only_a_host_that_is_added_is_installed_by_itself() -> None:
    draft = make_draft([make_host()], make_cluster())
    with pytest.raises(StateConflict):
        states.install_day2(draft, draft.hosts["a"])


# Silence, media, logs


def test_a_host_that_rebooted_may_be_silent() -> None:
    host = make_host(status="installing-in-progress", progress=at_stage("Configuring"))
    draft = make_draft([host], make_cluster(status="installing"))
    states.fell_silent(draft, host)
    states.media_disconnected(draft, host)
    assert not draft.events


def test_logs_are_awaited_then_collected_then_there() -> None:
    draft = make_draft([make_host(status="error")], make_cluster(status="error"))
    kinds = []
    for state in ("requested", "collecting", "completed"):
        waiting = states.logs(draft, draft.hosts["a"], state).waiting
        assert waiting is not None
        kinds.append(waiting.kind)
    assert kinds == ["logs-pending", "logs-collecting", "error"]


# Moves


def test_a_host_goes_to_a_cluster_and_back() -> None:
    pool = make_draft([make_host(status="known-unbound", cluster_id=None)])
    end = make_draft([], make_cluster(hosts_seen=7))
    host = bind(pool, end, pool.hosts["a"])
    assert "a" not in pool.hosts
    assert (host.status, host.cluster_id, host.number) == ("binding", "c", 7)
    host = states.register(end, host)
    back = unbind(end, pool, host)
    assert "a" not in end.hosts
    assert (back.status, back.cluster_id, back.role) == ("unbinding", None, "auto-assign")
    assert states.register(pool, back).status == "discovering-unbound"


def test_only_a_known_host_is_given_away() -> None:
    pool = make_draft([make_host(status="insufficient-unbound")])
    with pytest.raises(StateConflict):
        bind(pool, make_draft([], make_cluster()), pool.hosts["a"])


def test_a_cluster_that_is_installed_takes_nobody() -> None:
    pool = make_draft([make_host(status="known-unbound")])
    with pytest.raises(StateConflict):
        bind(pool, make_draft([], make_cluster(status="installing")), pool.hosts["a"])


def test_a_host_is_reclaimed() -> None:
    start, pool = make_draft([make_host(status="installed")], make_cluster(status="installed")), make_draft()
    host = reclaim(start, pool, start.hosts["a"])
    assert host.status == "reclaiming"
    assert states.artifacts(pool, host).status == "reclaiming-rebooting"
    assert states.artifacts(pool, pool.hosts["a"], "no space").status == "unbinding-pending-user-action"
    with pytest.raises(StateConflict):
        states.artifacts(pool, pool.hosts["a"])


def test_reset_forgets_how_far_it_was() -> None:
    draft = make_draft(
        [make_host(status="error", install_step="x", progress=at_stage("Installing"))], make_cluster()
    )
    host = states.reset(draft, draft.hosts["a"])
    assert (host.status, host.install_step) == ("resetting-pending-user-action", "")
    assert host.progress.current_stage is None
    assert host.status_updated_at == NOW


def test_a_host_on_its_way_cannot_be_reset() -> None:
    draft = make_draft([make_host(status="binding")], make_cluster())
    with pytest.raises(StateConflict):
        states.reset(draft, draft.hosts["a"])
