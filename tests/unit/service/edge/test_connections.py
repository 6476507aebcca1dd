# SPDX-License-Identifier: Apache-2.0
"""Connections are counted by network and by kind of caller, and strangers cannot keep others out."""

from __future__ import annotations

from collections.abc import Iterator

from muster.service.edge.connections import GRACE_S, ROOMS, Connection, Connections, Room

OWNER = "192.0.2.1"
SMALL = {"strangers": Room(each=3, all=5), "hosts": Room(each=4, all=6), "people": Room(each=2, all=2)}


class Scene:
    """Connections with a clock that a test sets."""

    def __init__(self, **rooms: Room) -> None:
        self.now = 0.0
        self.connections = Connections(lambda: self.now, rooms or SMALL)  # type: ignore[arg-type]
        self.closed: list[Connection] = []

    def open(self, address: str) -> Connection:
        found = self.connections.open(address)
        assert found is not None
        found.close = lambda: self.closed.append(found)
        return found


def strangers(count: int) -> Iterator[str]:
    return (f"198.18.{each >> 8}.{each & 255}" for each in range(count))


def test_a_network_that_is_full_is_refused_until_its_oldest_connection_had_its_time() -> None:
    scene = Scene()
    first = [scene.open(OWNER) for _ in range(3)]
    assert scene.connections.open(OWNER) is None
    scene.open("192.0.2.2")  # Others are not affected.
    scene.now = GRACE_S
    scene.open(OWNER)
    assert scene.closed == first[:1]
    assert scene.connections.count("strangers") == 4


def test_addresses_of_one_ipv6_network_count_together() -> None:
    scene = Scene()
    for each in range(3):
        scene.open(f"2001:db8::{each}")
    assert scene.connections.open("2001:db8::ffff") is None
    scene.open("2001:db8:0:1::1")


def test_when_all_places_are_taken_the_most_crowded_network_loses_its_oldest() -> None:
    scene = Scene()
    crowd = [scene.open("198.18.0.1") for _ in range(3)]
    scene.open("198.18.0.2")
    scene.open("198.18.0.3")
    scene.open(OWNER)
    assert scene.closed == crowd[:1]
    assert scene.connections.count("strangers") == 5


def test_ten_thousand_addresses_do_not_keep_the_owner_out() -> None:
    scene = Scene(**ROOMS)  # type: ignore[arg-type]
    for address in strangers(10_000):
        scene.open(address)
    assert scene.connections.count("strangers") == ROOMS["strangers"].all
    owner = scene.open(OWNER)
    assert owner.belongs_to("people")
    for address in strangers(10_000):
        scene.open(address)
    assert owner not in scene.closed, "a caller who is known is not closed to make room"


def test_hundreds_of_hosts_behind_one_address_are_not_held_back() -> None:
    scene = Scene(**ROOMS)  # type: ignore[arg-type]
    for _ in range(1000):
        assert scene.open(OWNER).belongs_to("hosts")
    assert scene.connections.count("strangers") == 0
    assert scene.connections.count("hosts") == 1000
    assert scene.closed == []


def test_hosts_cannot_take_the_places_of_people() -> None:
    scene = Scene()
    for address in ("198.18.0.1", "198.18.0.2", "198.18.0.3"):
        for _ in range(2):
            assert scene.open(address).belongs_to("hosts")
    late = scene.open("198.18.0.4")
    assert not late.belongs_to("hosts"), "there is no room in all"
    assert scene.open(OWNER).belongs_to("people")
    assert scene.connections.count("strangers") == 1, "who found no room is still a stranger"


def test_a_known_network_has_a_limit_too() -> None:
    scene = Scene()
    assert [scene.open(OWNER).belongs_to("people") for _ in range(3)] == [True, True, False]


def test_a_connection_counts_until_it_is_closed_and_only_once() -> None:
    scene = Scene()
    found = scene.open(OWNER)
    assert found.belongs_to("hosts")
    assert found.belongs_to("hosts")
    assert found.belongs_to("people"), "the next request on it may be that of another caller"
    assert (scene.connections.count("hosts"), scene.connections.count("people")) == (0, 1)
    found.ended()
    found.ended()
    assert scene.connections.count("people") == 0
    assert scene.connections._pools["people"].networks == {}
