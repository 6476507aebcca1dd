# SPDX-License-Identifier: Apache-2.0
"""Connections are counted by holder, and when there is no room, the right one is closed."""

from __future__ import annotations

from collections.abc import Iterator

from muster.service.edge.connections import ROOMS
from muster.serving.connections import GRACE_S, STALLED_S, Connection, Connections, Room

OWNER = "192.0.2.1"
NAT = "192.0.2.2"
SMALL = {
    "strangers": Room(each=3, all=5),
    "transfers": Room(each=3, all=4),
    "hosts": Room(each=2, all=5),
    "people": Room(each=2, all=2),
}


class Scene:
    """Connections with a clock that a test sets."""

    def __init__(self, **rooms: Room) -> None:
        self.now = 0.0
        self.connections = Connections(lambda: self.now, rooms or SMALL)
        self.closed: list[Connection] = []

    def open(self, address: str) -> Connection:
        found = self.connections.open(address)
        assert found is not None
        found.close = lambda: self.closed.append(found)
        return found

    def host(self, name: str, address: str = NAT) -> Connection:
        found = self.open(address)
        found.belongs_to("hosts", name)
        return found

    def attack(self, count: int, addresses: int) -> None:
        """Silent connections from some addresses, one after the other."""
        for each in range(count):
            self.now += 0.001
            self.connections.open(f"198.18.1.{each % addresses}")


def strangers(count: int) -> Iterator[str]:
    return (f"198.18.{each >> 8}.{each & 255}" for each in range(count))


def test_network_without_room_loses_its_idle_connection_to_a_newcomer() -> None:
    scene = Scene()
    first = [scene.open(OWNER) for _ in range(3)]
    assert scene.connections.open(OWNER) is None, "all of them are new"
    scene.open("192.0.2.9")  # Others are not affected.
    scene.now = GRACE_S
    first[0].touch()
    scene.open(OWNER)
    assert scene.closed == [first[1]], "the one that was idle longest"
    assert scene.connections.count("strangers") == 4


def test_addresses_of_one_ipv6_network_count_together() -> None:
    scene = Scene()
    for each in range(3):
        scene.open(f"2001:db8::{each}")
    assert scene.connections.open("2001:db8::ffff") is None
    scene.open("2001:db8:0:1::1")


def test_when_all_places_are_taken_the_most_crowded_network_makes_room() -> None:
    scene = Scene()
    crowd = [scene.open("198.18.0.1") for _ in range(3)]
    scene.open("198.18.0.2")
    scene.open("198.18.0.3")
    scene.open(OWNER)
    assert scene.closed == crowd[:1]
    assert scene.connections.count("strangers") == 5


def test_ten_thousand_addresses_do_not_keep_the_owner_out() -> None:
    scene = Scene(**ROOMS)
    for address in strangers(10_000):
        scene.open(address)
    assert scene.connections.count("strangers") == ROOMS["strangers"].all
    owner = scene.open(OWNER)
    owner.belongs_to("people", "session")
    for address in strangers(10_000):
        scene.open(address)
    assert owner not in scene.closed, "a caller who is known is not closed to make room for strangers"


def test_two_thousand_hosts_of_one_network_have_several_connections_each() -> None:
    for address in (NAT, "2001:db8::1"):
        scene = Scene(**ROOMS)
        for number in range(2000):
            for _ in range(4):
                scene.host(f"host-{number}", address)
        assert scene.connections.count("strangers") == 0
        assert scene.connections.count("hosts") == 8000
        assert scene.closed == []


def test_one_host_cannot_take_the_places_of_others() -> None:
    scene = Scene()
    evil = [scene.host("evil", f"198.18.0.{each}") for each in range(4)]
    assert scene.closed == evil[:2], "it loses its own"
    assert scene.connections.count("hosts") == 2


def test_host_with_the_most_connections_makes_room_for_another_one() -> None:
    scene = Scene()
    evil = [scene.host("evil") for _ in range(2)]
    for name in ("a", "b", "c", "d"):
        scene.host(name)
    assert scene.closed == evil[:1]
    late = scene.host("e")
    assert late.is_open
    assert scene.connections.count("hosts") == 5


def test_connection_that_was_idle_longest_goes_first() -> None:
    scene = Scene()
    first, second = scene.host("a"), scene.host("a")
    scene.now = 1.0
    first.touch()
    scene.host("a")
    assert scene.closed == [second]


def test_hosts_and_media_cannot_take_the_places_of_people() -> None:
    scene = Scene()
    for number in range(100):
        scene.host(f"host-{number}")
    scene.open(OWNER).belongs_to("people", "session")
    assert scene.connections.count("people") == 1


def test_transfers_are_not_closed_for_silent_strangers() -> None:
    scene = Scene(**ROOMS)
    downloads = []
    for _ in range(300):
        found = scene.open(NAT)
        transfer = found.transfer()
        transfer.__enter__()
        downloads.append((found, transfer))
    assert scene.connections.count("transfers") == 300
    for _ in range(5):
        scene.attack(600, 4)
        for found, _ in downloads:
            found.touch()
    assert not {found for found, _ in downloads} & set(scene.closed)
    for _, transfer in downloads:
        transfer.__exit__(None, None, None)
    assert scene.connections.count("transfers") == 0
    assert scene.connections.count("strangers") <= ROOMS["strangers"].all


def test_stalled_transfer_makes_room_for_another_one() -> None:
    scene = Scene()
    stalled, moving = scene.open(NAT), scene.open(NAT)
    others = [scene.open(OWNER), scene.open("192.0.2.3")]
    with stalled.transfer(), moving.transfer(), others[0].transfer(), others[1].transfer():
        assert scene.connections.count("transfers") == 4
        late = scene.open("192.0.2.4")
        with late.transfer():
            assert late.kind == "strangers", "all of them are new"
            scene.now = STALLED_S
            for each in (moving, *others, late):
                each.touch()
            assert scene.closed == [stalled]
            assert late.kind == "transfers"
        assert late.kind == "strangers"


def test_connection_counts_until_it_is_closed_and_only_once() -> None:
    scene = Scene()
    found = scene.host("a")
    found.belongs_to("hosts", "a")
    found.belongs_to("people", "b")  # The next request on it may be that of another caller.
    assert (scene.connections.count("hosts"), scene.connections.count("people")) == (0, 1)
    found.ended()
    found.ended()
    found.touch()
    found.belongs_to("hosts", "a")
    assert (scene.connections.count("hosts"), scene.connections.count("people")) == (0, 0)
    assert scene.connections._pools["people"].holders == {}


def test_connection_that_was_closed_to_make_room_is_not_counted_again() -> None:
    scene = Scene()
    found = scene.open(NAT)
    with found.transfer():
        found.ended()
    assert scene.connections.count("strangers") == scene.connections.count("transfers") == 0
