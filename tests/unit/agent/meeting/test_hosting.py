# SPDX-License-Identifier: Apache-2.0
"""Which connection makes room for a new one."""

from __future__ import annotations

from muster.agent.meeting.hosting import Connection, find_victim, is_full


def come(*addresses: str, proven: bool = False) -> list[Connection]:
    return [Connection(address, int, proven) for address in addresses]


def test_an_address_makes_room_for_itself() -> None:
    there = come("192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.1", "192.0.2.1")
    (new,) = come("192.0.2.1")
    assert find_victim(there, new) is there[0]
    assert find_victim(there[1:], new) is None


def test_the_busiest_address_makes_room_and_a_host_with_one_connection_stays() -> None:
    honest = come("192.0.2.200")
    there = honest + come(*(f"192.0.2.{number % 12}" for number in range(47)))
    (new,) = come("192.0.2.201")
    victim = find_victim(there, new)
    assert victim is there[1]
    assert find_victim(there[:-1], new) is None, "the network is not full"


def test_other_networks_make_room_when_all_is_full() -> None:
    there = come(*(f"198.51.{number % 16}.1" for number in range(64)))
    (new,) = come("192.0.2.1")
    assert find_victim(there, new) is there[0]


def test_those_who_have_shown_the_code_stay() -> None:
    there = come(*("192.0.2.1",) * 4, proven=True)
    (new,) = come("192.0.2.1")
    assert find_victim(there, new) is None
    many = come(*(f"198.51.{number}.1" for number in range(64)), proven=True)
    assert find_victim(many, new) is None
    assert is_full(many)
    assert not is_full(there)


def test_networks() -> None:
    texts = ("192.0.2.7", "::ffff:192.0.2.9", "2001:db8::7", "fe80::1%eth0", "somewhere")
    assert [each.network for each in come(*texts)] == [
        *("192.0.2.0/24", "192.0.2.0/24", "2001:db8::/64", "fe80::/64", ""),
    ]
