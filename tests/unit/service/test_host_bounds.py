# SPDX-License-Identifier: Apache-2.0
"""What hosts cost is bounded, for each of them and for all of a realm or of an infra-env."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.service.edge.rate import Allowance, Rate
from muster.service.engine import Engine
from muster.service.free_space import SPARE_BYTES, FreeSpace
from muster.service.host_bounds import HostBounds
from muster.service.realm import Draft
from muster.service.store.port import Change
from tests.unit.service.hosts import CLUSTER, NOW, host_id, make_realm


def change_of(number: int, size: int) -> Change:
    """A host's version becomes a text of some size, and it sends a file that is as large."""

    def decide(draft: Draft) -> None:
        draft.change(draft.hosts[host_id(number)], discovery_agent_version="x" * size)
        draft.documents[host_id(number), "connectivity"] = b"x" * size

    change, _ = Engine(lambda draft: None).change(make_realm(2), decide, NOW)
    assert change is not None
    return change


def test_events_files_and_the_own_row_count() -> None:
    bounds = HostBounds()
    bounds.host_writes = Allowance(Rate(burst=30_000, per_second=100))
    bounds.realm_writes = Allowance(Rate(burst=40_000, per_second=1000))
    assert bounds.seconds_to_write(host_id(1), CLUSTER, 0.0) == 0
    bounds.charge(host_id(1), change_of(1, 10_000), 0.0)
    assert 1 <= bounds.seconds_to_write(host_id(1), "", 0.0) <= 10, "the event, the file and the row"
    assert bounds.seconds_to_write(host_id(2), CLUSTER, 0.0) == 0
    bounds.charge(host_id(2), change_of(2, 10_000), 0.0)
    assert bounds.seconds_to_write(host_id(3), CLUSTER, 0.0) == 1, "the rows of hosts do not stay"
    assert bounds.seconds_to_write(host_id(3), "", 0.0) == 0


def test_the_row_of_another_host_does_not_count() -> None:
    bounds = HostBounds()
    bounds.host_writes = Allowance(Rate(burst=25_000, per_second=100))
    bounds.charge(host_id(2), change_of(1, 10_000), 0.0)
    assert bounds.seconds_to_write(host_id(2), "", 0.0) == 0


def test_hosts_that_wrote_much_leave_half_of_the_realm_to_the_others() -> None:
    """As many hosts as it takes spend all that each of them has: the others still report."""
    bounds = HostBounds()
    bounds.realm_writes = Allowance(Rate(burst=1_000_000, per_second=100))
    bounds.host_writes = Allowance(Rate(burst=200_000, per_second=100))
    bounds.modest_writes = Allowance(Rate(burst=50_000, per_second=1))
    change = change_of(1, 10_000)
    greedy, honest = host_id(1), host_id(45)
    for number in range(1, 9):
        while not bounds.seconds_to_write(host_id(number), CLUSTER, 0.0):
            bounds.charge(host_id(number), change, 0.0)
    assert bounds.seconds_to_write(greedy, CLUSTER, 0.0) > 0
    assert bounds.seconds_to_write(honest, CLUSTER, 0.0) == 0
    assert bounds.seconds_to_write(greedy, CLUSTER, 5000.0) == 0, "the realm has more than half again"


def test_space_is_looked_at_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    now, free, looked = 0.0, 10 * SPARE_BYTES, 0

    def disk(_: Path) -> tuple[int, int]:
        nonlocal looked
        looked += 1
        return 1000 * SPARE_BYTES, free

    space = FreeSpace(Path("/data"), lambda: now, disk)
    bounds = HostBounds(space)
    assert all(bounds.has_space() for _ in range(1000))
    assert looked == 1
    now, free = 10.0, SPARE_BYTES * 3 // 4
    assert not bounds.has_space()
    assert bounds.has_space(0.5), "installations that run go on"
    now, free = 20.0, SPARE_BYTES // 3
    assert not bounds.has_space(0.5)
    assert len(caplog.records) == 1
    now, free = 30.0, 2 * SPARE_BYTES
    assert bounds.has_space()


def test_a_small_file_system_keeps_a_share_and_one_that_is_gone_nothing() -> None:
    def gone(_: Path) -> tuple[int, int]:
        raise FileNotFoundError

    small = FreeSpace(Path("/data"), lambda: 0.0, lambda _: (1 << 30, 60 << 20))
    assert not small.is_below()
    assert not FreeSpace(Path("/data"), lambda: 0.0, gone).is_below()


def test_only_the_newest_question_of_a_host_waits() -> None:
    bounds, called = HostBounds(), list[str]()
    with bounds.newest("a", called.append) as is_first, bounds.newest("b", called.append) as is_other:
        assert is_first()
        with bounds.newest("a", called.append) as is_second:
            assert (is_first(), is_second(), is_other()) == (False, True, True)
        assert not is_first(), "it does not come back"
    assert called == ["a", "b", "a"]
    assert not bounds._questions
