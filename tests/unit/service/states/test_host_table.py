# SPDX-License-Identifier: Apache-2.0
"""Every row of the hosts' table has a case."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest

from muster.model.wire.host import Host as WireHost
from muster.service.refusals import Forbidden, StateConflict
from muster.service.states.cluster_table import CLUSTERS
from muster.service.states.fitness import HostFitness
from muster.service.states.host import fire
from muster.service.states.host_table import FINAL, HOSTS, RESTING, STATES, UNUSED
from muster.service.states.sight import HostSight
from muster.service.states.table import TRIGGERS, Row, Trigger
from muster.service.states.waits import host_waiting, waits
from tests.unit.service.states.world import (
    FIT,
    NOW,
    at_stage,
    due,
    failed,
    make_cluster,
    make_draft,
    make_host,
    minutes,
)

DAY_2 = {"kind": "AddHostsCluster", "status": "adding-hosts"}
POOL = {"id": ""}
PREPARING = {"status": "preparing-for-installation"}
INSTALLING = {"status": "installing"}
SLOW = HostFitness(True, True, True, False, ("sufficient-installation-disk-speed",))
NO_MASTERS = {"status": "installing", "control_plane_count": 0}
"""A cluster that can do without any host."""
NO_IMAGES = HostFitness(True, True, True, False, ("container-images-available",))
LATE = {"waiting": due(), "status_updated_at": NOW - minutes(90)}
BOOTING = {"progress": at_stage("Rebooting")}
WRITING = {"progress": at_stage("Writing image to disk")}

Case = tuple[Trigger, str, dict[str, Any], dict[str, Any], HostFitness, str]
"""A trigger, a state, what else is so of the host and of the cluster, how fit it is, and the next state."""
CASES: tuple[Case, ...] = (
    ("register", "known", {}, {}, FIT, "discovering"),
    ("register", "binding", {}, {}, FIT, "discovering"),
    ("register", "preparing-successful", {}, PREPARING, FIT, "known"),
    ("register", "resetting", BOOTING, {}, FIT, ""),
    ("register", "resetting", {}, {}, FIT, "discovering"),
    ("register", "installing-pending-user-action", BOOTING, INSTALLING, FIT, "403"),
    ("register", "installing-in-progress", BOOTING, INSTALLING, FIT, "installing-pending-user-action"),
    (
        "register",
        "added-to-existing-cluster",
        {"progress": at_stage("Done")},
        DAY_2,
        FIT,
        "installing-pending-user-action",
    ),
    (
        "register",
        "installing-in-progress",
        {"progress": at_stage("Configuring")},
        INSTALLING,
        FIT,
        "installing-pending-user-action",
    ),
    ("register", "installing-in-progress", WRITING, INSTALLING, FIT, "installing"),
    ("register", "installing-in-progress", WRITING | {"restarts": 3}, INSTALLING, FIT, "error"),
    ("register", "installing-in-progress", WRITING | {"bootstrap": True}, INSTALLING, FIT, "error"),
    ("register", "error", {}, {}, FIT, ""),
    ("register", "installed", {}, INSTALLING, FIT, "409"),
    ("register", "unbinding", {}, POOL, FIT, "discovering-unbound"),
    ("installation-failed", "installing", {}, INSTALLING, FIT, "error"),
    ("media-disconnected", "known", {}, {}, FIT, "disconnected"),
    ("media-disconnected", "preparing-for-installation", {}, PREPARING, FIT, "disconnected"),
    ("media-disconnected", "installing", {}, INSTALLING, FIT, "error"),
    ("media-disconnected", "error", {}, INSTALLING, FIT, ""),
    ("media-disconnected", "known-unbound", {}, POOL, FIT, "disconnected-unbound"),
    ("artifacts-ready", "reclaiming", {}, POOL, FIT, "reclaiming-rebooting"),
    ("artifacts-failed", "reclaiming", {}, POOL, FIT, "unbinding-pending-user-action"),
    ("cancel", "installed", {}, INSTALLING, FIT, "cancelled"),
    ("cancel", "preparing-failed", {}, PREPARING, FIT, "known"),
    ("reset", "cancelled", {}, {}, FIT, "resetting-pending-user-action"),
    ("reset", "resetting-pending-user-action", {}, {}, FIT, ""),
    ("install", "known", {}, DAY_2, FIT, "installing"),
    ("bind", "known-unbound", {}, POOL, FIT, "binding"),
    ("unbind", "insufficient", {}, {}, FIT, "unbinding"),
    ("unbind", "installed", {}, INSTALLING, FIT, "unbinding-pending-user-action"),
    ("reclaim", "installed", {}, INSTALLING, FIT, "reclaiming"),
    ("transform", "installed", {}, DAY_2, FIT, "added-to-existing-cluster"),
    ("refresh", "known", {"silent": True}, {}, FIT, "disconnected"),
    ("refresh", "known", {"media_status": "disconnected"}, {}, FIT, "disconnected"),
    (
        "refresh",
        "preparing-for-installation",
        {"verdicts": failed("sufficient-installation-disk-speed")},
        PREPARING,
        SLOW,
        "insufficient",
    ),
    ("refresh", "known", {}, PREPARING, FIT, "preparing-for-installation"),
    ("refresh", "preparing-successful", {}, INSTALLING, FIT, "installing"),
    ("refresh", "preparing-failed", {}, {}, FIT, "known"),
    ("refresh", "preparing-for-installation", {}, PREPARING, FIT, "preparing-successful"),
    (
        "refresh",
        "preparing-for-installation",
        {"verdicts": failed("container-images-available")},
        PREPARING,
        NO_IMAGES,
        "preparing-failed",
    ),
    ("refresh", "preparing-for-installation", LATE, PREPARING, NO_IMAGES, "preparing-failed"),
    ("refresh", "installed", {}, {"status": "error"}, FIT, "error"),
    ("refresh", "installing", LATE, INSTALLING, FIT, "error"),
    ("refresh", "installing-in-progress", {"silent": True, "bootstrap": True}, INSTALLING, FIT, "error"),
    ("refresh", "installing-in-progress", {"silent": True, "restarts": 3}, INSTALLING, FIT, "error"),
    ("refresh", "installing-in-progress", {"silent": True} | WRITING, INSTALLING, FIT, ""),
    (
        "refresh",
        "installing-in-progress",
        {"silent": True},
        INSTALLING | {"org_soft_timeouts_enabled": True},
        FIT,
        "",
    ),
    ("refresh", "installing-in-progress", LATE | BOOTING, INSTALLING, FIT, "installing-pending-user-action"),
    (
        "refresh",
        "installing-in-progress",
        LATE | {"progress": at_stage("Installing")},
        INSTALLING,
        FIT,
        "error",
    ),
    (
        "refresh",
        "installing-in-progress",
        LATE | {"progress": at_stage("Installing")},
        INSTALLING | {"org_soft_timeouts_enabled": True},
        FIT,
        "",
    ),
    (
        "refresh",
        "installing-pending-user-action",
        LATE | {"role": "worker"},
        NO_MASTERS,
        FIT,
        "error",
    ),
    ("refresh", "error", LATE, {}, FIT, ""),
    ("refresh", "reclaiming", LATE, POOL, FIT, "unbinding-pending-user-action"),
    ("refresh", "disconnected", {"inventory": None}, {}, FIT, "discovering"),
    ("refresh", "discovering", {}, {}, HostFitness(False, True, True, True, ("x",)), "insufficient"),
    ("refresh", "discovering", {}, {}, HostFitness(True, False, False, True, ("x",)), "pending-for-input"),
    ("refresh", "known", {}, {}, HostFitness(True, True, False, True, ("x",)), "insufficient"),
    ("refresh", "insufficient", {}, {}, FIT, "known"),
    ("refresh", "known-unbound", {"silent": True}, POOL, FIT, "disconnected-unbound"),
    ("refresh", "known-unbound", {"media_status": "disconnected"}, POOL, FIT, "disconnected-unbound"),
    ("refresh", "disconnected-unbound", {"inventory": None}, POOL, FIT, "discovering-unbound"),
    ("refresh", "known-unbound", {}, POOL, HostFitness(False, True, True, True), "insufficient-unbound"),
    ("refresh", "known-unbound", {}, POOL, HostFitness(True, True, False, True), "insufficient-unbound"),
    ("refresh", "insufficient-unbound", {}, POOL, FIT, "known-unbound"),
)
REPORTED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("Failed", {}, "error"),
    ("Done", DAY_2, "added-to-existing-cluster"),
    ("Done", {}, "installed"),
    ("Installing", {}, "installing-in-progress"),
)


def sight_of(case: Case) -> HostSight:
    _, status, values, cluster, fitness, _ = case
    host = make_host(status=status, **values)
    draft = make_draft([host], None if cluster == POOL else make_cluster(**cluster))
    return HostSight(draft, host, fitness)


def check(case: Case) -> Row | None:
    """The row that is taken; it changes what it says it does, and every change has a text and an event."""
    see = sight_of(case)
    trigger, status, wanted = case[0], case[1], case[5]
    if wanted in ("403", "409"):
        with pytest.raises((Forbidden, StateConflict)) as caught:
            fire(see.draft, trigger, see)
        assert str(caught.value.code) == wanted
        assert not see.draft.events
        return HOSTS.find(trigger, status, see)
    row = fire(see.draft, trigger, see)
    assert row is not None
    assert row.to == wanted
    after = see.draft.hosts["a"]
    assert after.status == (wanted or status)
    if wanted:
        assert after.status_info
        assert after.status_updated_at == NOW
        assert "host_status_updated" in [event.name for event in see.draft.events]
    return row


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]} {case[5]}")
def test_case(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(("stage", "cluster", "wanted"), REPORTED)
def test_reported_stage(stage: str, cluster: dict[str, Any], wanted: str) -> None:
    assert reported(stage, cluster).to == wanted


def reported(stage: str, cluster: dict[str, Any]) -> Row:
    host = make_host(status="installing")
    draft = make_draft([host], make_cluster(**(INSTALLING | cluster)))
    row = fire(draft, "progress", HostSight(draft, host, stage=stage, told="no space left"))
    assert row is not None
    return row


def test_every_row_has_a_case() -> None:
    taken = {check(case) for case in CASES} | {reported(stage, cluster) for stage, cluster, _ in REPORTED}
    assert [row for row in HOSTS.rows if row not in taken] == []


def test_the_states_are_those_that_clients_know() -> None:
    assert set(STATES) == set(get_args(get_type_hints(WireHost)["status"]))
    assert set(HOSTS.states()) == set(STATES) - {"disabled", "disabled-unbound"}


def test_every_state_has_a_way_out_and_a_way_in() -> None:
    out = {state for row in HOSTS.rows for state in row.sources() if row.to not in ("", state)}
    into = {row.to for row in HOSTS.rows}
    assert set(STATES) - out == {"disabled", "disabled-unbound"}
    assert set(STATES) - into == UNUSED


def test_every_state_that_waits_has_deadline_reason_and_action() -> None:
    for state in set(STATES) - FINAL - RESTING - {"disabled", "disabled-unbound"}:
        host = make_host(status=state, status_info="why", progress=at_stage("Installing"))
        waiting = host_waiting(host, make_cluster())
        assert waiting is not None, state
        assert waiting.until is not None, state
        assert waiting.until > waiting.since, state
        assert waiting.reason, state
        assert waiting.action, state
    for state in FINAL | RESTING:
        assert host_waiting(make_host(status=state), make_cluster()) is None


def test_every_wait_is_of_a_state() -> None:
    others = {"stage", "lost", "enrolment", "logs-pending", "logs-collecting"}
    assert set(waits()["host"]) - set(STATES) == others


def test_every_trigger_is_used_and_explained() -> None:
    assert {row.trigger for row in (*HOSTS.rows, *CLUSTERS.rows)} == set(TRIGGERS) == set(get_args(Trigger))
