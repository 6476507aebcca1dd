# SPDX-License-Identifier: Apache-2.0
"""Where the time of an installation went, from the log of the service and what was seen from outside."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from muster.client.phases import Course, Phase, Seen, course_of, render_spent, spent_by
from muster.model.wire.files import Event

ZERO = datetime(2026, 1, 2, 3, 0, tzinfo=UTC)
START = ZERO.timestamp()


def event(at_s: float, name: str, message: str = "", host: str | None = None, **props: Any) -> Event:
    return Event(
        severity="info",
        message=message,
        event_time=ZERO + timedelta(seconds=at_s),
        name=name,
        host_id=host,
        props=json.dumps(props) if props else None,
    )


def stage(at_s: float, host: str, stage: str) -> Event:
    name = "host_install_progress_updated"
    return event(at_s, name, f"Host {host}: reached installation stage {stage}", host, stage=stage)


def registered(at_s: float, host: str, name: str = "") -> Event:
    return event(at_s, "host_registration_succeeded", f"Host {name or host}: registered", host)


def installed(at_s: float) -> Event:
    return event(at_s, "cluster_status_updated", "Cluster x: ...", new_status="installed")


SINGLE = [
    event(40, "cluster_registration_succeeded", "Registered cluster"),
    registered(50, "node1"),
    stage(80, "node1", "Starting installation"),
    stage(85, "node1", "Writing image to disk"),
    stage(140, "node1", "Rebooting"),
    stage(230, "node1", "Joined"),
    stage(250, "node1", "Done"),
    installed(290),
]


def course(events: list[Event]) -> Course:
    found = course_of(events)
    assert found is not None
    return found


def test_a_single_node_from_the_log_alone() -> None:
    assert spent_by(course(SINGLE)) == {
        "node1": {
            Phase.MEETING: 10,
            Phase.CHECKS: 30,
            Phase.WRITE: 60,
            Phase.REBOOT: 90,
            Phase.NODE: 20,
            Phase.SET_UP: 40,
        }
    }


def test_who_watched_the_machine_knows_when_it_booted() -> None:
    seen = {"node1": Seen(START, START + 35, START + 190)}
    spent = spent_by(course(SINGLE), seen)["node1"]
    assert spent == {
        Phase.BOOT: 35,
        Phase.MEETING: 15,
        Phase.CHECKS: 30,
        Phase.WRITE: 60,
        Phase.REBOOT: 50,
        Phase.NODE: 60,
        Phase.SET_UP: 40,
    }
    assert sum(spent.values()) == 290


@pytest.mark.parametrize("powered", [START + 60, START - 7200])
def test_another_clock_is_not_believed(powered: float) -> None:
    seen = {"node1": Seen(powered, powered + 35, powered + 190)}
    assert spent_by(course(SINGLE), seen) == spent_by(course(SINGLE))


def test_the_rendezvous_host_waits_and_the_last_one_is_set_up() -> None:
    events = [
        event(0, "cluster_registration_succeeded"),
        registered(10, "a"),
        registered(20, "b"),
        stage(50, "a", "Starting installation"),
        stage(50, "b", "Starting installation"),
        stage(100, "b", "Rebooting"),
        stage(110, "a", "Waiting for control plane"),
        stage(180, "b", "Configuring"),
        stage(200, "b", "Done"),
        stage(210, "a", "Rebooting"),
        stage(280, "a", "Configuring"),
        stage(300, "a", "Done"),
        installed(330),
    ]
    spent = spent_by(course(events))
    assert spent["a"][Phase.WRITE] == 60
    assert spent["a"][Phase.OTHERS] == 100
    assert spent["a"][Phase.SET_UP] == 30
    assert Phase.OTHERS not in spent["b"]
    assert Phase.SET_UP not in spent["b"]
    assert sum(spent["a"].values()) == 330


def test_a_host_that_came_again_is_told_from_there() -> None:
    events = [
        event(0, "cluster_registration_succeeded"),
        registered(10, "id", "52-54"),
        stage(20, "id", "Starting installation"),
        stage(30, "id", "Rebooting"),
        registered(100, "id", "node1"),
        stage(120, "id", "Starting installation"),
    ]
    assert spent_by(course(events)) == {"id": {Phase.MEETING: 100, Phase.CHECKS: 20}}
    named = [*events, event(130, "host_status_updated", "Host node1: updated status", "id")]
    assert list(spent_by(course(named))) == ["node1"]


def test_what_is_not_over_is_told_as_far_as_it_went() -> None:
    assert course_of([]) is None
    assert spent_by(course(SINGLE[:3])) == {"node1": {Phase.MEETING: 10, Phase.CHECKS: 30}}
    assert spent_by(course(SINGLE[:1])) == {}


@pytest.mark.parametrize("props", ["{", "[]", "3", ""])
def test_properties_that_make_no_sense_say_nothing(props: str) -> None:
    broken = Event(severity="info", message="", event_time=ZERO, name="cluster_status_updated", props=props)
    assert course([broken]).installed is None


def test_the_table_has_a_row_for_each_phase_that_was() -> None:
    seen = {"node1": Seen(START, START + 35, START + 190)}
    assert render_spent(course(SINGLE), seen).splitlines() == [
        "where the time went     node1",
        "boot from the medium     0:35",
        "meeting                  0:15",
        "checks                   0:30",
        "writing the disk         1:00",
        "boot from the disk       0:50",
        "control plane            1:00",
        "set-up                   0:40",
        "all of it                4:50",
    ]
