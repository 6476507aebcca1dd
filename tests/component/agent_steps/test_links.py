# SPDX-License-Identifier: Apache-2.0
"""Hosts on a real link: who answers, who does not, and who answers for somebody else."""

from __future__ import annotations

from typing import Any

import msgspec

from muster.agent.steps.outcome import Outcome
from muster.model.wire.reports import (
    ConnectivityRemoteHost,
    ConnectivityReport,
    FreeNetworkAddresses,
    VerifiedVip,
)
from tests.component.agent_steps.site import Host, Site, batch


def peer(name: str, host: Host, *addresses: str) -> dict[str, Any]:
    return {"host_id": name, "nics": [{"name": "eth0", "mac": host.mac, "ip_addresses": addresses}]}


def read_hosts(done: Outcome) -> tuple[ConnectivityRemoteHost, ...]:
    assert done.exit_code == 0, done.error
    return msgspec.json.decode(done.output, type=ConnectivityReport).remote_hosts or ()


def test_a_neighbour_answers_in_every_way(site: Site) -> None:
    own, other = site.add("10.9.0.1/24", "fd00:9::1/64"), site.add("10.9.0.2/24", "fd00:9::2/64")
    (found,) = read_hosts(own.do("connectivity_check", [peer("b", other, "10.9.0.2/24", "fd00:9::2/64")]))
    assert [
        (row.outgoing_nic, row.outgoing_ip_address, row.remote_ip_address, row.remote_mac, row.successful)
        for row in found.l2_connectivity or ()
    ] == [
        ("eth0", "10.9.0.1", "10.9.0.2", other.mac, True),
        ("eth0", "fd00:9::1", "fd00:9::2", other.mac, True),
    ]
    for row in found.l3_connectivity or ():
        assert row.successful
        assert row.packet_loss_percentage == 0
        assert row.average_rtt_ms
    assert [row.remote_ip_address for row in found.l3_connectivity or ()] == ["10.9.0.2", "fd00:9::2"]
    assert [row.mtu_successful for row in found.mtu_report or ()] == [True, True]


def test_silence_is_told(site: Site) -> None:
    own, other = site.add("10.9.0.1/24", "fd00:9::1/64"), site.add()
    (found,) = read_hosts(own.do("connectivity_check", [peer("b", other, "10.9.0.2/24", "fd00:9::2/64")]))
    assert [(row.remote_mac, row.successful) for row in found.l2_connectivity or ()] == [(None, False)] * 2
    assert [(row.successful, row.packet_loss_percentage) for row in found.l3_connectivity or ()] == [
        (False, 100)
    ] * 2
    assert found.mtu_report == ()


def test_an_address_that_two_have_is_a_conflict(site: Site) -> None:
    own, other = site.add("10.9.0.1/24", "fd00:9::1/64"), site.add("10.9.0.2/24", "fd00:9::2/64")
    double = site.add("10.9.0.2/24", "fd00:9::2/64")
    (found,) = read_hosts(own.do("connectivity_check", [peer("b", other, "10.9.0.2/24", "fd00:9::2/64")]))
    assert [
        (row.remote_ip_address, row.remote_mac, row.successful) for row in found.l2_connectivity or ()
    ] == [
        ("10.9.0.2", other.mac, True),
        ("10.9.0.2", double.mac, False),
        ("fd00:9::2", other.mac, True),
        ("fd00:9::2", double.mac, False),
    ]


def test_a_switch_that_drops_large_packets(site: Site) -> None:
    own, other = site.add("10.9.0.1/24"), site.add("10.9.0.2/24")
    for host in (own, other):
        batch(host.namespace, "link set eth0 mtu 4000")
    (found,) = read_hosts(own.do("connectivity_check", [peer("b", other, "10.9.0.2/24")]))
    assert [row.mtu_successful for row in found.mtu_report or ()] == [False]
    assert [row.successful for row in found.l3_connectivity or ()] == [True]


def test_an_address_behind_no_router(site: Site) -> None:
    own, other = site.add("10.9.0.1/24"), site.add("10.8.0.2/24")
    (found,) = read_hosts(own.do("connectivity_check", [peer("b", other, "10.8.0.2/24")]))
    assert found.l2_connectivity == ()
    assert found.mtu_report == ()
    assert [(row.successful, row.packet_loss_percentage) for row in found.l3_connectivity or ()] == [
        (False, 100)
    ]


def test_free_addresses(site: Site) -> None:
    own = site.add("10.9.0.1/28")
    site.add("10.9.0.2/28", "10.9.0.14/28")
    done = own.do("free_network_addresses", ["10.9.0.0/28", "10.7.0.0/28"])
    assert done.exit_code == 0
    assert done.error == "10.7.0.0/28: this host has no address in it"
    assert msgspec.json.decode(done.output, type=tuple[FreeNetworkAddresses, ...]) == (
        FreeNetworkAddresses(
            network="10.9.0.0/28", free_addresses=tuple(f"10.9.0.{number}" for number in range(3, 14))
        ),
    )


def test_a_larger_subnet_with_many_hosts_is_seen_whole(site: Site) -> None:
    own, other = site.add("10.9.0.1/22"), site.add()
    used = [f"10.9.{number // 256}.{number % 256}" for number in range(256, 768)]
    other.give(*(f"{address}/22" for address in used))
    done = own.do("free_network_addresses", ["10.9.0.0/22"])
    (found,) = msgspec.json.decode(done.output, type=tuple[FreeNetworkAddresses, ...])
    assert set(found.free_addresses or ()).isdisjoint(used)
    assert len(found.free_addresses or ()) == 1024 - 2 - 1 - len(used)


def test_virtual_addresses(site: Site) -> None:
    own, other = site.add("10.9.0.1/24", "fd00:9::1/64"), site.add("10.9.0.2/24", "fd00:9::2/64")
    batch(own.namespace, "route add default via 10.9.0.2")
    batch(other.namespace, "address add 10.5.0.5/32 dev lo")
    vips = {
        "10.9.0.1": "failed",
        "10.9.0.2": "failed",
        "10.9.0.9": "succeeded",
        "fd00:9::2": "failed",
        "fd00:9::9": "succeeded",
        "10.5.0.5": "failed",
        "10.5.0.6": "succeeded",
    }
    done = own.do("verify_vips", [{"vip": vip, "vip_type": "api"} for vip in vips])
    found = msgspec.json.decode(done.output, type=tuple[VerifiedVip, ...])
    assert {each.vip: each.verification for each in found} == vips
    assert {each.vip_type for each in found} == {"api"}
    assert f"10.9.0.2: {other.mac} has it, as eth0 sees" in done.error.splitlines()
