# SPDX-License-Identifier: Apache-2.0
"""Buckets of requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.service.edge import rate
from muster.service.edge.rate import NEIGHBOURS, AddressBuckets, Buckets, Rate


def test_a_burst_and_then_a_steady_rate() -> None:
    buckets = Buckets(Rate(burst=3, per_second=2))
    assert [buckets.take("a", 0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.take("b", 0) == 0, "another address has its own"
    assert buckets.take("a", 0.5) == 0
    assert buckets.take("a", 0.5) > 0
    assert buckets.take("a", 100) == 0


def test_a_clock_that_jumps_back_gives_nothing_and_takes_nothing() -> None:
    buckets = Buckets(Rate(burst=1, per_second=1))
    assert buckets.take("a", 1000) == 0
    assert buckets.take("a", 0) == 1
    assert buckets.take("a", 1) == 0


@given(st.lists(st.floats(0, 2), max_size=60))
def test_never_more_than_the_rate(gaps: list[float]) -> None:
    buckets, now, taken = Buckets(Rate(burst=5, per_second=3)), 0.0, 0
    for gap in gaps:
        now += gap
        taken += buckets.take("a", now) == 0
    assert taken <= 5 + 3 * now + 1e-6


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_waiting_as_long_as_told_is_enough(gaps: list[float]) -> None:
    buckets, now = Buckets(Rate(burst=2, per_second=1)), 0.0
    for gap in gaps:
        now += gap
        if wait := buckets.take("a", now):
            now += wait + 1e-9
            assert buckets.take("a", now) == 0


def test_what_is_reserved_is_waited_for_and_not_longer_than_told() -> None:
    buckets = Buckets(Rate(burst=2, per_second=10))
    assert [buckets.reserve("a", 0, 1.0) for _ in range(4)] == [0, 0, 0.1, 0.2]
    for _ in range(1000):
        assert buckets.reserve("a", 0, 1.0) <= 1.0
    assert buckets.reserve("b", 0, 1.0) == 0
    assert buckets.reserve("a", 2.0, 1.0) == 0, "it recovers"


def test_neighbours_are_apart_and_their_network_has_a_larger_bound() -> None:
    buckets = AddressBuckets(Rate(burst=3, per_second=1))
    for _ in range(1000):
        buckets.take("2001:db8::bad", 0)
    assert buckets.take("2001:db8::1", 0) == 0, "a neighbour has its own bucket"
    granted = sum(buckets.take(f"2001:db8::{each:x}", 0) == 0 for each in range(2, 1000))
    assert granted == 3 * NEIGHBOURS - 3 - 1
    assert buckets.take("2001:db8:0:1::1", 0) == 0
    assert [buckets.take("192.0.2.1", 0) for _ in range(4)] == [0, 0, 0, 1]
    assert buckets.take("::ffff:192.0.2.1", 0) == 1, "the same address"


def test_reserving_does_not_delay_neighbours() -> None:
    buckets = AddressBuckets(Rate(burst=1, per_second=10))
    for _ in range(1000):
        buckets.reserve("2001:db8::bad", 0, 1.0)
    assert buckets.reserve("2001:db8::1", 0, 1.0) == 0


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "MAX_ADDRESSES", 10)
    buckets = Buckets(Rate(burst=1, per_second=1))
    for each in range(100):
        buckets.take(str(each), 0)
    assert len(buckets._level) == 10
