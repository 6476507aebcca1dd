# SPDX-License-Identifier: Apache-2.0
"""Which interfaces ask for others, and for whom."""

from __future__ import annotations

import json
from ipaddress import IPv4Interface, IPv6Interface, IPv6Network, ip_address
from typing import Any

import pytest

from muster.agent.steps.nics import NicsUnknown, find_on_link, load_nics, parse_address, parse_nics
from muster.run import Said
from tests.unit.agent.steps.recorded import Recorded, finish, good


def link(name: str, *addresses: str, kind: str = "", member_of: str = "", **more: Any) -> dict[str, Any]:
    split = [each.partition("/") for each in addresses]
    info = {"info_kind": kind, "info_slave_kind": member_of}
    return {
        "ifname": name,
        "link_type": "ether",
        "address": "02:00:00:00:00:01",
        "mtu": 1500,
        "linkinfo": {key: value for key, value in info.items() if value},
        "addr_info": [{"local": local, "prefixlen": int(length)} for local, _, length in split],
        **more,
    }


def names(*links: dict[str, Any]) -> list[str]:
    return [nic.name for nic in parse_nics(json.dumps(links))]


def test_cards_bonds_and_vlans_with_addresses() -> None:
    assert names(
        link("eth1", "10.0.0.2/24"),
        link("eth0", "10.0.0.1/24"),
        link("bond0", "10.1.0.1/24", kind="bond"),
        link("bond0.5", "10.2.0.1/24", kind="vlan"),
        link("eth2"),
        link("eth3", "169.254.3.4/16", "fe80::1/64"),
        link("eth4", "10.3.0.1/24", member_of="bond"),
        link("eth5", "10.4.0.1/24", member_of="vrf"),
        link("virbr0", "192.168.122.1/24", kind="bridge"),
        link("lo", "10.5.0.1/32", link_type="loopback"),
    ) == ["bond0", "bond0.5", "eth0", "eth1", "eth5"]


def test_what_of_a_card_is_known() -> None:
    (nic,) = parse_nics(
        json.dumps([link("eth0", "10.0.0.1/24", "fe80::1/64", "fd00::1/64", address="02:00:00:00:00:AB")])
    )
    assert nic.mac == "02:00:00:00:00:ab"
    assert nic.addresses == (IPv4Interface("10.0.0.1/24"), IPv6Interface("fd00::1/64"))


def test_an_address_that_another_has_already_is_not_used() -> None:
    bad = link("eth0")
    bad["addr_info"] = [{"local": "fd00::1", "prefixlen": 64, "dadfailed": True}]
    assert names(bad) == []


def test_on_link_by_subnet_or_by_route() -> None:
    routes = [
        {"dst": "fd00:1::/64", "dev": "eth0", "protocol": "ra"},
        {"dst": "fd00:2::/64", "dev": "eth0", "gateway": "fe80::1"},
        {"dst": "fe80::/64", "dev": "eth0"},
        {"dst": "default", "dev": "eth0", "nexthops": [{}]},
    ]
    nics = parse_nics(json.dumps([link("eth0", "10.0.0.1/24", "fd00:1::9/128")]), json.dumps(routes))
    assert nics[0].neighbourhood == (IPv6Network("fd00:1::/64"),)

    def sources(address: str) -> list[str]:
        return [str(source) for _, source in find_on_link(nics, ip_address(address))]

    assert sources("10.0.0.7") == ["10.0.0.1"]
    assert sources("fd00:1::7") == ["fd00:1::9"]
    assert sources("fd00:2::7") == sources("10.0.1.7") == []


def test_an_interface_asks_once_with_the_first_address_that_fits() -> None:
    nics = parse_nics(json.dumps([link("eth0", "10.0.0.1/24", "10.0.0.2/24")]))
    assert [str(source) for _, source in find_on_link(nics, ip_address("10.0.0.7"))] == ["10.0.0.1"]


@pytest.mark.parametrize("said", [Said(1, "", "no such thing"), good("oops"), good('[{"mtu": "large"}]')])
def test_an_ip_program_that_fails(said: Said) -> None:
    with pytest.raises(NicsUnknown):
        finish(load_nics(Recorded({"ip -j -d address": said})))


def test_routes_may_be_missing() -> None:
    machine = Recorded({"ip -j -d address": good(json.dumps([link("eth0", "10.0.0.1/24")]))})
    assert [nic.name for nic in finish(load_nics(machine))] == ["eth0"]


@pytest.mark.parametrize("text", ["", None, "x", "fe80::1/64", "127.0.0.1", "224.0.0.1", "0.0.0.0", "10.0.0"])
def test_texts_that_are_no_address_to_ask_for(text: str | None) -> None:
    assert parse_address(text) is None


def test_an_address_with_its_prefix_length() -> None:
    assert parse_address("10.0.0.1/24") == ip_address("10.0.0.1")
