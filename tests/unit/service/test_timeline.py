# SPDX-License-Identifier: Apache-2.0
"""Which stage a host was in, and when."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from muster.service.realm import Event
from muster.service.state import Cluster, Host
from muster.service.timeline import PROGRESS, StageSpan, Timeline, timeline_of
from tests.realms import NOW, make_cluster, make_host

SINGLE = ("Starting installation", "Installing", "Waiting for bootkube", "Writing image to disk")


def cluster(status: str = "installing") -> Cluster:
    return msgspec.structs.replace(
        make_cluster(), status=status, control_plane_count=1, install_started_at=NOW
    )


def at(host: Host, minutes: float, stage: str) -> Event:
    moment = NOW + timedelta(minutes=minutes)
    return Event(at=moment, kind="host", id=host.id, name=PROGRESS, props={"stage": stage})


def look(
    *events: Event, minutes: float = 10.0, status: str = "installing"
) -> tuple[Timeline, dict[str, StageSpan]]:
    host = msgspec.structs.replace(make_host(), role="master")
    found = timeline_of(cluster(status), {host.id: host}, events, NOW + timedelta(minutes=minutes))
    return found, {each.stage: each for each in found.hosts[0].stages}


def test_stages_end_where_the_next_begins_and_what_is_to_come_is_there() -> None:
    host = make_host()
    _, spans = look(at(host, 0, SINGLE[0]), at(host, 1, SINGLE[1]), at(host, 2, SINGLE[3]))
    assert spans[SINGLE[0]].ended_at == spans[SINGLE[1]].started_at
    assert spans[SINGLE[1]].ended_at == spans[SINGLE[3]].started_at
    assert spans[SINGLE[2]].started_at is None
    assert spans[SINGLE[3]].ended_at is None
    assert spans["Done"].started_at is None
    assert spans["Done"].limit_s


def test_what_takes_twice_the_usual_is_slow() -> None:
    host = make_host()
    _, spans = look(at(host, 0, SINGLE[0]), at(host, 0.1, SINGLE[3]), minutes=2)
    assert not spans[SINGLE[3]].is_slow
    _, spans = look(at(host, 0, SINGLE[0]), at(host, 0.1, SINGLE[3]), minutes=30)
    assert spans[SINGLE[3]].is_slow


def test_events_of_before_and_of_others_do_not_count() -> None:
    host = make_host()
    other = msgspec.structs.replace(host, id="other")
    _, spans = look(at(host, -5, SINGLE[3]), at(other, 1, SINGLE[1]), at(host, 1, SINGLE[0]))
    assert spans[SINGLE[3]].started_at is None
    assert spans[SINGLE[1]].started_at is None
    assert spans[SINGLE[0]].started_at == NOW + timedelta(minutes=1)


def test_a_host_that_is_installed_anew_begins_anew() -> None:
    host = make_host()
    _, spans = look(at(host, 0, SINGLE[0]), at(host, 1, SINGLE[3]), at(host, 5, SINGLE[0]))
    assert spans[SINGLE[0]].started_at == NOW + timedelta(minutes=5)
    assert spans[SINGLE[3]].started_at is None


def test_what_is_left_gets_less_and_is_nothing_where_nothing_runs() -> None:
    host = make_host()
    early, _ = look(at(host, 0, SINGLE[0]), minutes=0)
    late, _ = look(at(host, 0, SINGLE[0]), at(host, 1, "Rebooting"), minutes=2)
    assert early.usual_left_s is not None
    assert late.usual_left_s is not None
    assert early.usual_left_s > late.usual_left_s > 0
    assert look(status="installed")[0].usual_left_s is None
