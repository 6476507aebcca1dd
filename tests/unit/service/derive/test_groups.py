# SPDX-License-Identifier: Apache-2.0
"""The largest set of hosts that all reach each other, as it grows and at once."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from muster.service.derive.bits import numbers_in, read_bits, write_bits
from muster.service.derive.groups import Mesh
from muster.service.realm import Draft, Realm
from tests.unit.service.hosts import NOW, all_told, answer, host_id, make_realm, remote, report, settle

NET = "198.18.0.0/16"
BITS = st.integers(0, (1 << 8) - 1)


@given(st.integers(0, 1 << 200))
def test_sets_survive_being_stored(bits: int) -> None:
    assert read_bits(write_bits(bits)) == bits
    assert sum(1 << number for number in numbers_in(bits)) == bits


def is_full(reached: dict[int, int], group: int) -> bool:
    return all(
        reached[one] >> other & 1 for one in numbers_in(group) for other in numbers_in(group) if one != other
    )


@given(st.lists(st.tuples(st.integers(0, 7), BITS), max_size=30))
def test_what_grows_is_what_is_found_at_once(reports: list[tuple[int, int]]) -> None:
    grown, last = Mesh(), {}
    for number, reached in reports:
        before = grown.group
        grown.report(number, reached)
        assert grown.refresh() == before ^ grown.group
        last[number] = reached
    fresh = Mesh()
    for number in sorted(last):
        fresh.report(number, last[number])
    fresh.refresh()
    assert fresh.group == grown.group
    assert is_full(last, grown.group)


@given(st.lists(st.tuples(st.integers(0, 7), BITS), max_size=40))
def test_what_is_kept_is_a_mesh_that_nobody_else_could_join(reports: list[tuple[int, int]]) -> None:
    """Hosts report a few peers at a time, all of whom answer: who joined stays, and whoever can joins."""
    mesh, reached = Mesh(), dict[int, int]()
    for number, peers in reports:
        before = mesh.group
        reached[number] = reached.get(number, 0) | peers & ~(1 << number)
        mesh.report(number, reached[number])
        mesh.ask(number, reached[number])
        changed = mesh.refresh(3, keep=True)
        assert changed == before ^ mesh.group
        assert is_full(reached, mesh.group)
        if before.bit_count() >= 3:
            assert before & mesh.group == before
            others = [one for one in reached if not mesh.group >> one & 1]
            assert not any(is_full(reached, mesh.group | 1 << one) for one in others)


def test_who_does_not_answer_somebody_has_the_mesh_searched_for_anew() -> None:
    mesh = Mesh()
    for number in range(4):
        mesh.report(number, 0b1111)
        mesh.ask(number, 0b1111)
        mesh.refresh(3, keep=True)
    assert mesh.group == 0b1111
    mesh.report(0, 0b0111)
    mesh.ask(0, 0b1111)
    assert mesh.refresh(3, keep=True) == 0b1000
    mesh.report(0, 0b1111)
    mesh.ask(0, 0b1111)
    assert mesh.refresh(3, keep=True) == 0b1000


def cliques(reached: dict[int, int], size: int) -> int:
    """The size of the largest full mesh, by trying all."""
    sets = (bits for bits in range(1 << size) if all(number in reached for number in numbers_in(bits)))
    return max((bits.bit_count() for bits in sets if is_full(reached, bits)), default=0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30), st.integers(0, 5))
def test_a_few_broken_links_do_not_hide_the_largest(broken: list[tuple[int, int]], more: int) -> None:
    reached = dict.fromkeys(range(6), (1 << 6) - 1)
    for one, other in broken[:more]:
        reached[one] &= ~(1 << other)
    mesh = Mesh()
    for number, bits in reached.items():
        mesh.report(number, bits)
    mesh.refresh()
    largest = cliques(reached, 6)
    assert mesh.group.bit_count() == (largest if largest > 1 else 0)


def told(realm: Realm, number: int, peers: list[int], **broken: bool) -> None:
    answer(realm, number, "connectivity-check", report(*(remote(peer, **broken) for peer in peers)))


def test_a_healthy_cluster_is_one_group() -> None:
    realm = all_told(4)
    for number in (1, 2, 3):
        told(realm, number, [peer for peer in (1, 2, 3, 4) if peer != number])
    assert [host.groups for host in realm.hosts.values()] == [(NET, "IPv4")] * 3 + [()]
    told(realm, 4, [1, 2, 3])
    assert [host.groups for host in realm.hosts.values()] == [(NET, "IPv4")] * 4


def test_two_are_no_group_except_with_fencing() -> None:
    realm = all_told(2)
    told(realm, 1, [2])
    told(realm, 2, [1])
    assert [host.groups for host in realm.hosts.values()] == [(), ()]
    pair = all_told(2, control_plane_count=2)
    told(pair, 1, [2])
    told(pair, 2, [1])
    draft = Draft(pair, NOW)
    for host in list(draft.hosts.values()):
        draft.change(host, fencing_credentials="sealed")
    settle(draft)
    assert [host.groups for host in pair.hosts.values()] == [(NET, "IPv4")] * 2


def test_who_is_not_heard_on_the_wire_leaves_that_group_alone() -> None:
    realm = all_told(4)
    for number in range(1, 5):
        told(realm, number, [peer for peer in range(1, 5) if peer != number])
    told(realm, 1, [4], l2=False)
    groups = [host.groups for host in realm.hosts.values()]
    assert groups.count((NET, "IPv4")) == 3
    assert groups.count(("IPv4",)) == 1


def test_a_host_that_goes_leaves_its_group() -> None:
    realm = all_told(3)
    for number in range(1, 4):
        told(realm, number, [peer for peer in range(1, 4) if peer != number])
    draft = Draft(realm, NOW)
    draft.remove(realm.hosts[host_id(2)])
    settle(draft)
    assert [host.groups for host in realm.hosts.values()] == [(), ()]


def test_what_is_kept_can_be_made_again() -> None:
    chance = random.Random(7)
    kept, lost = all_told(9), all_told(9)
    for _ in range(60):
        number, peer = chance.sample(range(1, 10), 2)
        is_broken = chance.random() < 0.2
        for realm in (kept, lost):
            told(realm, number, [peer], l2=not is_broken, l3=not is_broken)
        lost.cache.clear()
        assert [host.groups for host in kept.hosts.values()] == [host.groups for host in lost.hosts.values()]


def test_a_realm_without_reports_has_no_groups() -> None:
    assert [host.groups for host in make_realm(2).hosts.values()] == [(), ()]


def test_nobody_leaves_a_group_while_the_others_are_still_being_asked() -> None:
    chance = random.Random(3)
    realm = all_told(12)
    pairs = [(one, other) for one in range(1, 13) for other in range(1, 13) if one != other]
    chance.shuffle(pairs)
    before: list[tuple[str, ...]] = [()] * 12
    for number, peer in pairs:
        told(realm, number, [peer])
        now = [host.groups for host in realm.hosts.values()]
        assert all(set(one) <= set(other) for one, other in zip(before, now, strict=True))
        before = now
    assert before == [(NET, "IPv4")] * 12


def test_a_larger_group_counts_once_somebody_does_not_answer() -> None:
    realm = all_told(8)
    for side in ((1, 2, 3), (4, 5, 6, 7, 8)):
        for number in side:
            told(realm, number, [peer for peer in side if peer != number])
    assert [bool(host.groups) for host in realm.hosts.values()] == [True] * 3 + [False] * 5
    told(realm, 1, [4, 5, 6, 7, 8], l2=False, l3=False)
    assert [bool(host.groups) for host in realm.hosts.values()] == [False] * 3 + [True] * 5
