# SPDX-License-Identifier: Apache-2.0
"""Deadlines go along when the clock is set, and stand still while there is no service."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.service.realm import Draft
from muster.service.state import EnrolmentApproval, EnrolmentRequest, Waiting
from muster.service.states.clock import extend_waits, move_times
from tests.unit.service.states.world import NOW, at_stage, make_cluster, make_draft, make_host, minutes

WAITING = Waiting(kind="stage", since=NOW, until=NOW + minutes(30))


def draft_of(*, is_waiting: bool = True) -> Draft:
    waiting = WAITING if is_waiting else None
    host = make_host(status="installing-in-progress", progress=at_stage("Rebooting"), waiting=waiting)
    cluster = make_cluster(status="installing", install_started_at=NOW - minutes(5), waiting=waiting)
    return make_draft([host, make_host("b")], cluster)


@pytest.mark.parametrize("jump", [timedelta(days=365), timedelta(days=-365)])
def test_everything_that_deadlines_follow_from_moves(jump: timedelta) -> None:
    draft = draft_of()
    move_times(draft, jump)
    host, cluster = draft.hosts["a"], draft.cluster
    assert host.waiting == cluster.waiting
    assert host.waiting is not None
    assert (host.waiting.since, host.waiting.until) == (NOW + jump, NOW + minutes(30) + jump)
    assert (host.status_updated_at, host.progress.stage_started_at) == (NOW + jump, NOW + jump)
    assert host.progress.stage_updated_at == NOW + jump
    assert cluster.install_started_at == NOW - minutes(5) + jump
    assert draft.hosts["b"].status_updated_at == NOW
    (told,) = (each for each in draft.events if each.name)
    assert (told.name, told.severity) == ("service_clock_moved", "warning")
    assert ("forward" if jump > timedelta() else "back") in told.message
    assert "8760 hours" in told.message


@pytest.mark.parametrize("jump", [timedelta(days=365), timedelta(days=-365)])
def test_requests_and_approvals_of_keys_are_as_old_as_before(jump: timedelta) -> None:
    request = EnrolmentRequest(
        key="k", address="192.0.2.9", requested_at=NOW - minutes(4), repeated_at=NOW - minutes(1)
    )
    approval = EnrolmentApproval(key="K", given_at=NOW - minutes(3))
    host = make_host(status="installing", enrolment_request=request, enrolment_approval=approval)
    draft = make_draft([host], make_cluster())
    move_times(draft, jump)
    moved, given = draft.hosts["a"].enrolment_request, draft.hosts["a"].enrolment_approval
    assert moved is not None
    assert given is not None
    assert (moved.requested_at, moved.repeated_at) == (NOW - minutes(4) + jump, NOW - minutes(1) + jump)
    assert given.given_at == NOW - minutes(3) + jump


def test_only_the_end_of_a_wait_moves_when_the_service_was_away() -> None:
    draft = draft_of()
    extend_waits(draft, timedelta(hours=5))
    host = draft.hosts["a"]
    assert host.waiting is not None
    assert (host.waiting.since, host.waiting.until) == (NOW, NOW + minutes(30) + timedelta(hours=5))
    assert host.status_updated_at == NOW
    assert draft.cluster.install_started_at == NOW - minutes(5)
    (told,) = (each for each in draft.events if each.name)
    assert (told.name, "5 hours" in told.message) == ("service_was_away", True)


def test_who_waits_for_nothing_is_left_alone() -> None:
    draft = draft_of(is_waiting=False)
    move_times(draft, timedelta(days=1))
    extend_waits(draft, timedelta(days=1))
    assert draft.events == []
