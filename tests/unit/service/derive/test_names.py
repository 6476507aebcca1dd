# SPDX-License-Identifier: Apache-2.0
"""What hosts are called, and who is called the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.service.derive.names import _MAX_TWINS, effective_name
from muster.service.realm import Draft, Realm
from tests.unit.service.hosts import NOW, all_told, host_id, mac, make_realm, settle, tell_inventory


def twins(realm: Realm, number: int) -> list[str]:
    return list(realm.hosts[host_id(number)].twins)


@pytest.mark.parametrize("name", ["localhost", "localhost.localdomain", "localhost6", "", None])
def test_a_name_that_says_nothing_is_replaced(name: str | None) -> None:
    realm = make_realm(1)
    tell_inventory(realm, 1, hostname=name)
    host = realm.hosts[host_id(1)]
    assert effective_name(host) == mac(1).replace(":", "-")
    assert host.hostname_reason == f"it calls itself {name or 'nothing'}, so this is the MAC of eth0"


def test_it_goes_when_the_host_gets_a_name_of_its_own() -> None:
    realm = make_realm(1)
    tell_inventory(realm, 1, hostname="localhost")
    tell_inventory(realm, 1, hostname="a.example.com")
    host = realm.hosts[host_id(1)]
    assert (host.requested_hostname, host.hostname_reason) == ("", "")
    assert effective_name(host) == "a.example.com"


def test_a_given_name_stays() -> None:
    realm = make_realm(1)
    draft = Draft(realm, NOW)
    draft.change(draft.hosts[host_id(1)], requested_hostname="a", hostname_reason="given")
    settle(draft)
    tell_inventory(realm, 1, hostname="localhost")
    assert effective_name(realm.hosts[host_id(1)]) == "a"


def test_twins_know_each_other_until_one_is_renamed() -> None:
    realm = all_told(3)
    tell_inventory(realm, 2, hostname="HOST-1")
    assert twins(realm, 1) == [host_id(2)]
    assert twins(realm, 2) == [host_id(1)]
    assert twins(realm, 3) == []
    draft = Draft(realm, NOW)
    draft.change(draft.hosts[host_id(1)], requested_hostname="other", hostname_reason="given")
    settle(draft)
    assert twins(realm, 1) == twins(realm, 2) == []


def test_a_twin_that_goes_is_forgotten() -> None:
    realm = all_told(2)
    tell_inventory(realm, 2, hostname="host-1")
    draft = Draft(realm, NOW)
    draft.remove(realm.hosts[host_id(2)])
    settle(draft)
    assert twins(realm, 1) == []


@given(st.lists(st.tuples(st.integers(1, 12), st.sampled_from(["a", "b", "c"])), max_size=40))
def test_twins_as_they_come_are_those_found_at_once(names: list[tuple[int, str]]) -> None:
    realm = make_realm(12)
    for number, name in names:
        tell_inventory(realm, number, hostname=name)
    for host in realm.hosts.values():
        name = effective_name(host)
        others = [
            each.id for each in realm.hosts.values() if each.id != host.id and effective_name(each) == name
        ]
        assert list(host.twins) == (others[:_MAX_TWINS] if name else [])
