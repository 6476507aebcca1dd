# SPDX-License-Identifier: Apache-2.0
"""How a member of etcd starts whose disk is empty, and what is never done."""

from __future__ import annotations

import json

import pytest

from muster.model.voters import Voters
from muster.node.membership import (
    Join,
    Known,
    New,
    Replace,
    View,
    Wait,
    choose_start,
    count_healthy,
    parse_members,
)

VOTERS = Voters("c", {"a": "192.0.2.1", "b": "192.0.2.2", "c": "192.0.2.3"})


def known(name: str, number: int, *, started: bool = True, learner: bool = False, label: str = "") -> Known:
    clients = (f"https://192.0.2.{number}:2379",) if started else ()
    shown = "" if learner and not started else label or name
    return Known(number, shown, (f"https://192.0.2.{number}:2380",), clients, learner)


A, B, C = known("a", 1), known("b", 2), known("c", 3)
NEW_C = known("c", 3, started=False)
LEARNER_C = known("c", 3, started=False, learner=True)


def test_nobody_answers_at_a_first_start() -> None:
    assert choose_start(VOTERS, View()) == New()


def test_one_that_never_started_starts_as_all_do_even_late_or_beside_one() -> None:
    assert choose_start(VOTERS, View((A, B, NEW_C), 2)) == New()
    assert choose_start(VOTERS, View((A, known("b", 2, started=False), NEW_C), 0)) == New()


def test_one_that_started_before_is_replaced() -> None:
    assert choose_start(VOTERS, View((A, B, C), 2)) == Replace(C)


def test_one_that_was_removed_already_comes_in_again() -> None:
    assert choose_start(VOTERS, View((A, B), 2)) == Replace(None)


def test_one_that_came_in_already_starts_with_the_list_as_it_is() -> None:
    members = (("a", "https://192.0.2.1:2380"), ("b", "https://192.0.2.2:2380"), ("c", VOTERS.own_peer))
    assert choose_start(VOTERS, View((A, B, LEARNER_C), 2)) == Join(members)


def test_a_learner_that_lost_its_disk_again_is_replaced() -> None:
    again = known("c", 3, learner=True)
    assert choose_start(VOTERS, View((A, B, again), 2)) == Replace(again)


@pytest.mark.parametrize(
    ("members", "healthy"),
    [
        ((A, B, C), 1),
        ((A, B, C), 0),
        ((A, known("b", 2, started=False), C), 1),
        ((A, C), 1),
        ((A, B), 1),
        ((A, B, C, known("d", 4), known("e", 5)), 2),
    ],
)
def test_nothing_is_removed_without_a_majority_of_the_others(
    members: tuple[Known, ...], healthy: int
) -> None:
    step = choose_start(VOTERS, View(members, healthy))
    assert isinstance(step, Wait)
    assert "more of the other members" in step.reason


@pytest.mark.parametrize("other", [known("c", 9), known("c", 3, label="x")])
def test_an_entry_that_is_another_member_s_is_never_touched(other: Known) -> None:
    step = choose_start(VOTERS, View((A, B, other), 2))
    assert isinstance(step, Wait)
    assert f"etcdctl member remove {other.hex_id}" in step.fix


def test_others_that_answer_without_a_list_are_asked_again() -> None:
    assert isinstance(choose_start(VOTERS, View((), 2)), Wait)


def test_what_etcdctl_says_is_read() -> None:
    big = 14612346543874637432
    entry = {"ID": big, "name": "a", "peerURLs": ["https://192.0.2.1:2380"], "clientURLs": ["x"]}
    text = json.dumps({"header": {"cluster_id": 1}, "members": [entry, {"ID": 2, "isLearner": True}]})
    assert parse_members(text) == (
        Known(big, "a", ("https://192.0.2.1:2380",), ("x",)),
        Known(2, "", (), (), is_learner=True),
    )
    assert int(Known(big, "a", ()).hex_id, 16) == big
    assert parse_members("Error: context deadline exceeded") == ()
    assert parse_members('{"members": 3}') == ()


@pytest.mark.parametrize(
    ("text", "count"),
    [('[{"health": true}, {"health": false}]', 1), ("", 0), ("{}", 0), ('[{"x": 1}]', 0), ("[3]", 0)],
)
def test_health_is_counted(text: str, count: int) -> None:
    assert count_healthy(text) == count
