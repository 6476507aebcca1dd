# SPDX-License-Identifier: Apache-2.0
"""Every row of the clusters' table has a case."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest

from muster.model.wire.cluster import Cluster as WireCluster
from muster.model.wire.cluster import ClusterProgressInfo, LastInstallationPreparation
from muster.model.wire.operators import MonitoredOperator
from muster.service.realm import Draft
from muster.service.states.cluster import fire
from muster.service.states.cluster_table import CLUSTERS, FINAL, RESTING, STATES
from muster.service.states.fitness import ClusterFitness
from muster.service.states.table import Row, Trigger
from muster.service.states.waits import cluster_waiting, waits
from tests.unit.service.states.world import NOW, READY, due, make_cluster, make_draft, make_host, minutes

MADE = {"preparation": LastInstallationPreparation(status="success")}
NOT_MADE = {"preparation": LastInstallationPreparation(status="failed", reason="no release")}
DAY_AGO = {"install_started_at": NOW - minutes(24 * 60)}
SOFT = {"org_soft_timeouts_enabled": True}
OLM = MonitoredOperator(name="lvm", operator_type="olm", status="failed")
CONSOLE = MonitoredOperator(name="console", operator_type="builtin", status="progressing")
FIVE_HOURS_AGO = {"status_updated_at": NOW - minutes(300)}
BEFORE, PREPARING, PENDING = "insufficient", "preparing-for-installation", "installing-pending-user-action"


def late_in(stage: str) -> dict[str, Any]:
    progress = ClusterProgressInfo(
        finalizing_stage=stage,  # type: ignore[arg-type]
        finalizing_stage_started_at=NOW - minutes(600),
    )
    return {"progress": progress, "monitored_operators": (CONSOLE,)}


Case = tuple[Trigger, str, dict[str, Any], str, ClusterFitness, str]
"""A trigger, a state, what else is so of the cluster, states of its masters, its fitness, the next state."""
CASES: tuple[Case, ...] = (
    ("prepare", "ready", {}, "known known known", READY, PREPARING),
    ("cancel", "error", {}, "error", READY, "cancelled"),
    ("cancel", PREPARING, {}, "known", READY, "ready"),
    ("reset", "cancelled", {}, "cancelled", READY, "insufficient"),
    ("transform", "installed", {}, "installed", READY, "adding-hosts"),
    ("fail", "finalizing", {}, "installed", READY, "error"),
    ("refresh", "ready", {}, "known", ClusterFitness(False, False, ("x",)), "pending-for-input"),
    ("refresh", "ready", {}, "known", ClusterFitness(True, False, ("x",)), "insufficient"),
    ("refresh", BEFORE, NOT_MADE, "known", READY, "ready"),
    ("refresh", BEFORE, {}, "known", READY, "ready"),
    ("refresh", PREPARING, MADE, "preparing-successful", READY, "installing"),
    ("refresh", PREPARING, MADE, "preparing-successful disconnected", READY, "insufficient"),
    ("refresh", PREPARING, MADE, "preparing-successful preparing-failed", READY, "ready"),
    ("refresh", PREPARING, NOT_MADE, "preparing-successful", READY, "ready"),
    ("refresh", PREPARING, {"waiting": due()}, "preparing-successful", READY, "ready"),
    ("refresh", "installing", {}, "installed installed error", READY, "error"),
    ("refresh", "installing", DAY_AGO, "installing installed installed", READY, "error"),
    ("refresh", "installing", {}, f"{PENDING} installed installed", READY, PENDING),
    ("refresh", PENDING, {}, f"{PENDING} installed installed", READY, PENDING),
    ("refresh", "installing", {}, "installed installed installed", READY, "finalizing"),
    ("refresh", PENDING, {}, "installing installed installed", READY, "installing"),
    (
        "refresh",
        "finalizing",
        {"kubeconfig": True, "monitored_operators": (OLM,)},
        "installed installed installed",
        READY,
        "installed",
    ),
    (
        "refresh",
        "finalizing",
        {"kubeconfig": True},
        "installed installed installed error",
        READY,
        "installed",
    ),
    ("refresh", "finalizing", {"kubeconfig": True}, "installed installed installed", READY, "installed"),
    ("refresh", "finalizing", FIVE_HOURS_AGO, "installed installed installed", READY, "error"),
    ("refresh", "finalizing", late_in("Adding router ca"), "installed", READY, "error"),
    ("refresh", "finalizing", late_in("Applying olm manifests"), "installed", READY, ""),
    ("refresh", "installed", {"logs_info": "collecting", "waiting": due()}, "installed", READY, ""),
)


def draft_of(case: Case) -> Draft:
    _, status, values, hosts, _, _ = case
    masters = [make_host(str(number), status=each) for number, each in enumerate(hosts.split())]
    return make_draft(masters, make_cluster(**({"status": status, "install_started_at": NOW} | values)))


def check(case: Case) -> Row:
    draft = draft_of(case)
    trigger, status, _, _, fitness, wanted = case
    row = fire(draft, trigger, fitness, told="it broke")
    assert row is not None
    assert row.to == wanted
    after = draft.cluster
    assert after.status == (wanted or status)
    if wanted:
        assert after.status_info
    if wanted not in ("", status):
        assert after.status_updated_at == NOW
        assert "cluster_status_updated" in [event.name for event in draft.events]
    return row


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]} {case[5]}")
def test_case(case: Case) -> None:
    check(case)


def test_every_row_has_a_case() -> None:
    taken = {check(case) for case in CASES}
    assert [row for row in CLUSTERS.rows if row not in taken] == []


def test_the_states_are_those_that_clients_know() -> None:
    assert set(STATES) == set(get_args(get_type_hints(WireCluster)["status"]))
    assert set(STATES) - set(CLUSTERS.states()) == {"unmonitored"}


def test_every_state_has_a_way_out() -> None:
    out = {state for row in CLUSTERS.rows for state in row.sources() if row.to not in ("", state)}
    assert set(STATES) - out == FINAL


@pytest.mark.parametrize("state", sorted(set(STATES) - FINAL - RESTING))
def test_every_state_that_waits_has_deadline_reason_and_action(state: str) -> None:
    waiting = cluster_waiting(make_cluster(status=state, status_info="why", install_started_at=NOW))
    assert waiting is not None
    assert waiting.until is not None
    assert waiting.until > waiting.since
    assert waiting.reason
    assert waiting.action


def test_who_rests_waits_for_nothing() -> None:
    for state in FINAL | RESTING:
        assert cluster_waiting(make_cluster(status=state)) is None


def test_every_wait_is_of_a_state() -> None:
    assert set(waits()["cluster"]) - set(STATES) == {"logs-pending", "logs-collecting"}
