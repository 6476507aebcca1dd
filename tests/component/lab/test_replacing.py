# SPDX-License-Identifier: Apache-2.0
"""Members of a real etcd, one of which loses its disk: on loopback addresses of their own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.node.replacing import DATA, LEARNER, SETTINGS, load_voters, promote, settle
from tests.component.etcd import Member, Trio

NAMES = ("a", "b", "c")


@pytest.fixture
def trio(tmp_path: Path, kube: Path) -> Iterator[Trio]:
    with contextlib.closing(Trio(tmp_path, kube, NAMES)) as made:
        yield made


def start(member: Member) -> None:
    """As its unit does: settle, start, promote."""
    asyncio.run(settle(member.etcd))
    member.start()


def test_all_start_as_new_and_the_last_one_joins_late(trio: Trio) -> None:
    for name in ("a", "b"):
        start(trio.members[name])
    trio.wait_until_healthy("a", "b")
    late = trio.members["c"]
    assert [each.name for each in trio.list("a") if not each.has_started] == ["c"]
    start(late)
    assert not (late.root / SETTINGS).exists()
    trio.wait_until_healthy(*NAMES)
    assert {each.name for each in trio.list("a") if each.has_started} == {*NAMES}


def test_a_member_that_lost_its_disk_is_replaced_and_keeps_all_that_was_written(trio: Trio) -> None:
    for name in NAMES:
        start(trio.members[name])
    trio.wait_until_healthy(*NAMES)
    before = {each.name: each.id for each in trio.list("a")}
    trio.put("a", "colour", "blue")
    lost = trio.members["c"]
    lost.stop()
    lost.wipe()
    start(lost)
    assert (lost.root / LEARNER).exists()
    assert "ETCD_INITIAL_CLUSTER_STATE=existing" in (lost.root / SETTINGS).read_text()
    trio.wait_until_started("c")
    asyncio.run(promote(lost.etcd))
    assert not (lost.root / LEARNER).exists()
    trio.wait_until_healthy(*NAMES)
    after = {each.name: each for each in trio.list("a")}
    assert {name: each.id for name, each in after.items() if name != "c"} == {
        name: id for name, id in before.items() if name != "c"
    }
    assert after["c"].id != before["c"]
    assert not any(each.is_learner for each in after.values())
    assert trio.get("c", "colour") == "blue"
    assert "its old entry is replaced" in lost.said[0]


def test_nothing_is_removed_without_a_majority_and_it_goes_on_with_one(trio: Trio) -> None:
    for name in NAMES:
        start(trio.members[name])
    trio.wait_until_healthy(*NAMES)
    lost, away = trio.members["c"], trio.members["b"]
    lost.stop()
    lost.wipe()
    away.stop()
    lost.when_it_sleeps = away.start
    start(lost)
    assert "has to be replaced" in lost.said[0]
    asyncio.run(promote(lost.etcd))
    trio.wait_until_healthy(*NAMES)
    assert len(trio.list("a")) == 3


@pytest.mark.parametrize("word", ["remove", "add"])
def test_killed_in_the_middle_it_goes_on(trio: Trio, word: str) -> None:
    for name in NAMES:
        start(trio.members[name])
    trio.wait_until_healthy(*NAMES)
    lost = trio.members["c"]
    lost.stop()
    lost.wipe()
    lost.killed_after = word
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(settle(lost.etcd))
    lost.killed_after = ""
    start(lost)
    asyncio.run(promote(lost.etcd))
    trio.wait_until_healthy(*NAMES)
    assert sorted(each.name for each in trio.list("a")) == [*NAMES]


def test_with_data_nobody_is_asked(trio: Trio) -> None:
    member = trio.members["a"]
    (member.root / DATA).mkdir(parents=True)
    member.killed_after = "list"
    asyncio.run(settle(member.etcd))
    assert load_voters(member.root).name == "a"
