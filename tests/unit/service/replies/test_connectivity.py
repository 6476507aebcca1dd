# SPDX-License-Identifier: Apache-2.0
"""Reports about peers, at once and in rounds."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.model.wire.inventory import Interface
from muster.model.wire.reports import (
    ConnectivityRemoteHost,
    L2Connectivity,
    L3Connectivity,
    MtuReport,
)
from muster.service.derive.directory import MAX_ADDRESSES, directory_of
from muster.service.realm import Draft, Realm
from muster.service.replies import connectivity
from muster.service.state import Host, Peer
from tests.counting import calls_in
from tests.unit.service.hosts import (
    NOW,
    address,
    all_told,
    answer,
    host_id,
    mac,
    make_realm,
    remote,
    report,
    settle,
    tell_inventory,
)

NET = "198.18.0.0/16"


def told(realm: Realm, *remotes: ConnectivityRemoteHost) -> Draft:
    return answer(realm, 1, "connectivity-check", report(*remotes))


def me(realm: Realm) -> Host:
    return realm.hosts[host_id(1)]


def test_peers_that_answer_are_bits_and_nothing_else() -> None:
    realm = all_told(3)
    draft = told(realm, remote(2), remote(3))
    assert (me(realm).asked, me(realm).reached, me(realm).peers) == ("c", {NET: "c", "IPv4": "c"}, {})
    assert list(draft.documents) == [(host_id(1), "connectivity")]


def test_noise_is_no_news() -> None:
    realm = all_told(3)
    told(realm, remote(2, rtt=0.2), remote(3, rtt=9.0))
    draft = told(realm, remote(2, rtt=3.1), remote(3, rtt=40.0))
    assert draft.events == []
    assert draft.documents == {}


def test_a_slow_answer_among_quick_ones_is_news() -> None:
    realm = all_told(3)
    told(realm, remote(2, rtt=0.2), remote(3, rtt=99.0))
    for rtt in (100.5, 250.0):
        told(realm, remote(2, rtt=0.3), remote(3, rtt=rtt))
        assert me(realm).peers[host_id(3)].rtt_ms > 100
        told(realm, remote(2, rtt=0.3), remote(3, rtt=9.0))
        assert me(realm).peers == {}


def test_what_was_said_counts_again_when_the_peer_is_another() -> None:
    realm = all_told(3)
    told(realm, remote(2), remote(3))
    tell_inventory(realm, 3, interfaces=(Interface(name="eth0", ipv4_addresses=("198.18.9.9/16",)),))
    assert told(realm, remote(2), remote(3)).events
    assert me(realm).reached == {NET: "4", "IPv4": "4"}


def test_silence_is_said_in_words() -> None:
    realm = all_told(2)
    told(realm, remote(2, l2=False, l3=False))
    ip = address(2)
    silent = (f"{ip} did not answer ARP from eth0", f"{ip} did not answer ping")
    assert me(realm).peers == {host_id(2): Peer(silent=silent)}
    assert (me(realm).asked, me(realm).reached) == ("4", {})
    told(realm, remote(2))
    assert me(realm).peers == {}
    assert me(realm).reached == {NET: "4", "IPv4": "4"}


def test_slow_and_lossy_peers_in_steps() -> None:
    realm = all_told(2)
    slow = L3Connectivity(
        remote_ip_address=address(2), successful=True, average_rtt_ms=120.3, packet_loss_percentage=9.2
    )
    told(realm, msgspec.structs.replace(remote(2), l3_connectivity=(slow,)))
    assert me(realm).peers == {host_id(2): Peer(rtt_ms=150, loss_percent=10)}
    still = msgspec.structs.replace(slow, average_rtt_ms=149.0, packet_loss_percentage=9.9)
    assert told(realm, msgspec.structs.replace(remote(2), l3_connectivity=(still,))).events == []


def test_large_packets_that_do_not_arrive() -> None:
    realm = all_told(2)
    mtu = MtuReport(outgoing_nic="eth0", remote_ip_address=address(2))
    told(realm, msgspec.structs.replace(remote(2), mtu_report=(mtu,)))
    sentence = f"{address(2)} does not get packets as large as the MTU of eth0"
    assert me(realm).peers == {host_id(2): Peer(small_packets=(sentence,))}


def both_macs(number: int, wrong: str) -> ConnectivityRemoteHost:
    good = remote(number)
    assert good.l2_connectivity is not None
    bad = L2Connectivity(outgoing_nic="eth0", remote_ip_address=address(number), remote_mac=wrong)
    return msgspec.structs.replace(good, l2_connectivity=(*good.l2_connectivity, bad))


def test_an_address_that_two_machines_have() -> None:
    realm = all_told(3)
    told(realm, both_macs(2, "52:54:00:FF:00:01"), remote(3))
    heard = f"{address(2)} {mac(2)} 52:54:00:ff:00:01"
    assert me(realm).peers[host_id(2)].doubled == (heard,)
    assert realm.hosts[host_id(2)].collisions == (heard,)
    assert realm.hosts[host_id(3)].collisions == ()
    answer(realm, 3, "connectivity-check", report(both_macs(2, "52:54:00:ff:00:01")))
    told(realm, remote(2))
    assert realm.hosts[host_id(2)].collisions == (heard,)
    answer(realm, 3, "connectivity-check", report(remote(2)))
    assert realm.hosts[host_id(2)].collisions == ()


def test_collisions_are_forgotten_with_the_host_that_heard_them() -> None:
    realm = all_told(3)
    told(realm, both_macs(2, "52:54:00:ff:00:01"))
    realm.cache.clear()
    draft = Draft(realm, NOW)
    draft.remove(me(realm))
    settle(draft)
    assert realm.hosts[host_id(2)].collisions == ()


def test_all_addresses_of_a_family_have_to_answer() -> None:
    realm = make_realm(2)
    tell_inventory(realm, 1)
    two = Interface(
        name="eth0",
        mac_address=mac(2),
        ipv4_addresses=(f"{address(2)}/16", "203.0.113.2/24"),
        ipv6_addresses=("2001:db8::2/64",),
    )
    tell_inventory(realm, 2, interfaces=(two,))
    told(realm, remote(2))
    assert me(realm).reached == {NET: "4"}
    more = [
        L3Connectivity(remote_ip_address=ip, successful=True)
        for ip in (address(2), "203.0.113.2", "2001:db8::2")
    ]
    told(realm, msgspec.structs.replace(remote(2), l3_connectivity=tuple(more)))
    assert me(realm).reached == {NET: "4", "IPv4": "4", "IPv6": "4"}


def test_a_ping_will_do_among_neighbours_of_ipv6() -> None:
    realm = make_realm(2)
    for number in (1, 2):
        six = Interface(name="eth0", mac_address=mac(number), ipv6_addresses=(f"2001:db8::{number}/64",))
        tell_inventory(realm, number, interfaces=(six,))
    ping = L3Connectivity(remote_ip_address="2001:db8::2", successful=True)
    told(realm, ConnectivityRemoteHost(host_id=host_id(2), l3_connectivity=(ping,)))
    assert me(realm).reached == {"2001:db8::/64": "4", "IPv6": "4"}
    assert me(realm).peers == {}


def test_other_prefix_lengths_on_the_same_wire() -> None:
    realm = all_told(1)
    draft = Draft(realm, NOW)
    draft.add(msgspec.structs.replace(me(realm), id=host_id(2), number=2, inventory=None))
    settle(draft)
    nic = Interface(name="eth0", mac_address=mac(2), ipv4_addresses=(f"{address(2)}/24",))
    tell_inventory(realm, 2, interfaces=(nic,))
    told(realm, remote(2))
    assert me(realm).reached[NET] == "4"


def test_strangers_and_oneself_are_passed_over() -> None:
    realm = all_told(2)
    draft = told(realm, remote(1), remote(77), ConnectivityRemoteHost())
    assert draft.events == []


def test_nulls_are_nothing() -> None:
    realm = all_told(2)
    nulls = {"host_id": host_id(2), "l2_connectivity": None, "l3_connectivity": None}
    answer(realm, 1, "connectivity-check", {"remote_hosts": [nulls]})
    assert me(realm).asked == "4"
    assert answer(realm, 1, "connectivity-check", '{"remote_hosts": null}').events == []


STATE = st.tuples(st.booleans(), st.booleans(), st.sampled_from([0.3, 180.0]))


@given(st.dictionaries(st.integers(2, 12), STATE), st.lists(st.integers(0, 3), min_size=11, max_size=11))
def test_in_rounds_and_at_once_is_the_same(
    states: dict[int, tuple[bool, bool, float]], rounds: list[int]
) -> None:
    remotes = {
        number: remote(number, l2=l2, l3=l3, rtt=rtt) for number, (l2, l3, rtt) in sorted(states.items())
    }
    at_once, in_rounds = all_told(12), all_told(12)
    told(at_once, *remotes.values())
    for turn in range(4):
        told(in_rounds, *(each for number, each in remotes.items() if rounds[number - 2] == turn))
    for name in ("asked", "reached", "peers"):
        assert getattr(me(at_once), name) == getattr(me(in_rounds), name)


def test_what_is_said_in_words_is_bounded() -> None:
    realm = all_told(60)
    told(realm, *(remote(number, l2=False) for number in range(2, 61)))
    assert list(me(realm).peers) == [host_id(number) for number in range(2, 34)]
    assert me(realm).asked == f"{(1 << 61) - 4:x}"


def test_what_is_said_of_one_peer_is_bounded() -> None:
    realm = all_told(2)
    long, ip = "x" * 1000, address(2)
    macs = tuple(
        L2Connectivity(outgoing_nic=long, remote_ip_address=ip, remote_mac=f"{at:04}{long}", successful=False)
        for at in range(1000)
    )
    slow = L3Connectivity(
        remote_ip_address=ip, successful=True, average_rtt_ms=1e300, packet_loss_percentage=1e300
    )
    small = MtuReport(outgoing_nic=long, remote_ip_address=ip)
    told(
        realm,
        ConnectivityRemoteHost(
            host_id=host_id(2), l2_connectivity=macs, l3_connectivity=(slow,), mtu_report=(small,)
        ),
    )
    peer = me(realm).peers[host_id(2)]
    assert (peer.rtt_ms, peer.loss_percent) == (60_000, 100)
    assert len(msgspec.json.encode(me(realm).peers)) < 4000
    assert len(peer.doubled[0].split()) == 9, "an address and eight MACs"


def many_cards(number: int, count: int) -> tuple[Interface, ...]:
    """Interfaces in networks of their own, apart from those of other hosts."""
    return tuple(
        Interface(
            name=f"n{at}",
            mac_address=mac(number, at % 250),
            ipv4_addresses=(f"10.{number}.{at >> 6}.{(at & 63) * 4 + 1}/30",),
        )
        for at in range(count)
    )


def test_a_peer_that_is_named_again_costs_nothing_and_changes_nothing() -> None:
    realm = all_told(2)
    good, bad = remote(2), remote(2, l2=False, l3=False)
    told(realm, good, *[bad] * 50)
    assert (me(realm).reached, me(realm).peers) == ({NET: "4", "IPv4": "4"}, {})
    for number in (1, 2):
        tell_inventory(realm, number, interfaces=many_cards(number, 500))
    empty = ConnectivityRemoteHost(host_id=host_id(2))
    once = calls_in(lambda: told(realm, empty))
    assert once < 20_000, "neither are all addresses compared with all subnets"
    assert calls_in(lambda: told(realm, *[empty] * 12)) < once + 200


def test_addresses_that_take_part_are_bounded() -> None:
    realm = all_told(4)
    for number in range(1, 5):
        tell_inventory(realm, number, interfaces=many_cards(number, 500))
    entries = directory_of(realm).entries
    assert {len(each.addresses) for each in entries.values()} == {MAX_ADDRESSES}
    assert len(msgspec.json.decode(entries[host_id(1)].body)["nics"]) == MAX_ADDRESSES


def test_one_report_is_taken_for_a_bounded_number_of_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectivity, "MAX_ADDRESSES", 5)
    realm = all_told(9)
    told(realm, *(remote(number) for number in range(2, 10)))
    assert me(realm).asked == f"{0b1111100:x}", "five peers with an address each; the others come later"
