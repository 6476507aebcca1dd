# SPDX-License-Identifier: Apache-2.0
"""Interfaces, routes and neighbours on recorded machines."""

from __future__ import annotations

from ipaddress import IPv6Interface
from pathlib import Path
from typing import Any

import pytest

from muster.agent.inventory.found import CannotTell
from muster.agent.inventory.interfaces import collect_interfaces, repair_prefix
from muster.agent.inventory.ip import RouteRecord
from muster.agent.inventory.lldp import collect_lldp, parse_neighbours
from muster.agent.inventory.routes import collect_routes
from muster.model.wire.extras import Link, Neighbour
from muster.model.wire.inventory import Interface, Route
from muster.run import Said
from tests.unit.agent.inventory.machines.kvm import KVM
from tests.unit.agent.inventory.machines.server import SERVER
from tests.unit.agent.inventory.recorded import Recording, plant
from tests.unit.service.running import finish


def test_the_card_of_a_guest(tmp_path: Path) -> None:
    found = finish(collect_interfaces(plant(tmp_path, KVM)))
    assert found.inventory.interfaces == (
        Interface(
            name="enp1s0",
            mac_address="02:00:05:00:00:00",
            type="physical",
            mtu=1500,
            flags=("up", "broadcast", "multicast"),
            ipv4_addresses=("192.0.2.10/24",),
            ipv6_addresses=("2001:db8:1::a/64",),
            has_carrier=True,
            speed_mbps=-1,
            vendor="0x1af4",
            product="0x0001",
        ),
    )
    assert found.extras.links == ()
    assert found.troubles == ()


def test_cards_in_a_bond_keep_their_own_addresses(tmp_path: Path) -> None:
    found = finish(collect_interfaces(plant(tmp_path, SERVER)))
    interfaces = found.inventory.interfaces or ()
    assert [(each.name, each.type, each.mac_address) for each in interfaces] == [
        ("ens1f0", "physical", "02:00:0b:00:00:00"),
        ("ens1f1", "physical", "02:00:0b:00:00:01"),
        ("bond0", "bond", "02:00:0b:00:00:00"),
        ("bond0.110", "vlan", "02:00:0b:00:00:00"),
        ("virbr0", "bridge", "52:54:00:00:00:01"),
    ]
    assert [each.speed_mbps for each in interfaces][:3] == [25000, 25000, 50000]
    assert interfaces[4].ipv4_addresses == ()  # It is link-local.
    assert found.extras.links == (
        Link(name="bond0", kind="bond", members=("ens1f0", "ens1f1")),
        Link(name="bond0.110", kind="vlan", parent="bond0", vlan_id=110),
    )


def link(**more: Any) -> dict[str, Any]:
    return {"ifname": "x0", "link_type": "ether", "address": "02:00:00:00:00:01", **more}


def interfaces_of(tmp_path: Path, *links: Any, routes: Any = "[]") -> tuple[Interface, ...]:
    machine = plant(tmp_path, Recording(answers={"ip -j -d address": list(links), "ip -j -6 route": routes}))
    return finish(collect_interfaces(machine)).inventory.interfaces or ()


def test_an_interface_that_is_no_card_and_of_no_kind_is_not_taken_for_a_card(tmp_path: Path) -> None:
    assert interfaces_of(tmp_path, link())[0].type == "virtual"


def test_older_programs_tell_the_burnt_in_address_elsewhere(tmp_path: Path) -> None:
    told = link(permaddr="02:00:00:00:00:99", linkinfo={"info_slave_kind": "bond"})
    assert interfaces_of(tmp_path, told)[0].mac_address == "02:00:00:00:00:99"


def test_an_address_that_was_set_by_hand_is_the_one(tmp_path: Path) -> None:
    assert interfaces_of(tmp_path, link(permaddr="02:00:00:00:00:99"))[0].mac_address == "02:00:00:00:00:01"


def test_without_the_kernels_word_the_flags_tell_of_a_cable(tmp_path: Path) -> None:
    seen = interfaces_of(tmp_path, link(flags=["UP", "LOWER_UP"]), link(flags=["UP", "NO-CARRIER"]))
    assert [each.has_carrier for each in seen] == [True, False]


def test_one_interface_that_makes_no_sense_does_not_hide_the_others(tmp_path: Path) -> None:
    answers = {"ip -j -d address": [link(mtu="many"), {}, link(ifname="x1"), 7], "ip -j -6 route": "garbage"}
    found = finish(collect_interfaces(plant(tmp_path, Recording(answers=answers))))
    assert [each.name for each in found.inventory.interfaces or ()] == ["x1"]
    assert "2 things that make no sense" in found.troubles[0]
    assert "no JSON" in found.troubles[1]


@pytest.mark.parametrize("said", ["garbage", "{}", Said(1, "", "Cannot open netlink socket")])
def test_no_interfaces_when_ip_says_nothing_of_use(tmp_path: Path, said: object) -> None:
    with pytest.raises(CannotTell):
        finish(collect_interfaces(plant(tmp_path, KVM.but(ip=said))))


@pytest.mark.parametrize(
    ("address", "routes", "repaired"),
    [
        ("2001:db8:1::a/128", [("2001:db8:1::/64", "")], "2001:db8:1::a/64"),
        ("2001:db8:1::a/128", [("2001:db8::/32", ""), ("2001:db8:1::/64", "")], "2001:db8:1::a/64"),
        ("2001:db8:1::a/128", [("2001:db8:1::/64", "fe80::1")], "2001:db8:1::a/128"),
        ("2001:db8:1::a/128", [("2001:db8:2::/64", ""), ("default", ""), ("x", "")], "2001:db8:1::a/128"),
        ("2001:db8:1::a/56", [("2001:db8:1::/64", "")], "2001:db8:1::a/56"),
    ],
)
def test_subnets_of_addresses_that_came_without(
    address: str, routes: list[tuple[str, str]], repaired: str
) -> None:
    records = [RouteRecord(dst=dst, gateway=gateway) for dst, gateway in routes]
    assert str(repair_prefix(IPv6Interface(address), records)) == repaired


def test_routes_of_other_interfaces_repair_nothing(tmp_path: Path) -> None:
    told = link(addr_info=[{"family": "inet6", "local": "2001:db8:1::a", "prefixlen": 128}])
    other = [{"dst": "2001:db8:1::/64", "dev": "y0"}]
    assert interfaces_of(tmp_path, told, routes=other)[0].ipv6_addresses == ("2001:db8:1::a/128",)


def test_routes_of_both_families(tmp_path: Path) -> None:
    assert finish(collect_routes(plant(tmp_path, KVM))).inventory.routes == (
        Route(interface="enp1s0", gateway="192.0.2.1", destination="0.0.0.0", family=2, metric=100),
        Route(interface="enp1s0", destination="192.0.2.0", family=2, metric=100),
        Route(interface="enp1s0", destination="2001:db8:1::a", family=10, metric=100),
        Route(interface="enp1s0", destination="2001:db8:1::", family=10, metric=100),
        Route(interface="enp1s0", gateway="fe80::1", destination="::", family=10, metric=100),
    )


def test_a_route_with_several_ways_is_several_routes(tmp_path: Path) -> None:
    assert finish(collect_routes(plant(tmp_path, SERVER))).inventory.routes == (
        Route(interface="bond0.110", gateway="192.0.2.1", destination="0.0.0.0", family=2, metric=400),
        Route(interface="bond0", gateway="fe80::9", destination="0.0.0.0", family=2, metric=400),
    )


def test_routes_of_one_family_are_told_without_the_other(tmp_path: Path) -> None:
    answers = {"ip -j -4": [{"dst": "default", "gateway": "192.0.2.1", "dev": "x0"}], "ip -j -6": "garbage"}
    found = finish(collect_routes(plant(tmp_path, Recording(answers=answers))))
    assert [each.gateway for each in found.inventory.routes or ()] == ["192.0.2.1"]
    assert found.troubles == ("what ip -j -6 route show table main said is no JSON",)


def test_no_routes_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(CannotTell, match="ip is not there"):
        finish(collect_routes(plant(tmp_path, Recording())))


def test_neighbours(tmp_path: Path) -> None:
    assert finish(collect_lldp(plant(tmp_path, SERVER))).extras.neighbours == (
        Neighbour(
            interface="ens1f0",
            chassis_id="B4:96:91:00:00:01",
            port_id="Eth1/7",
            port_description="to node-0 \\ left",
            system_name="leaf-1",
            vlan_id=110,
        ),
        Neighbour(interface="ens1f1"),
    )


def test_nobody_who_listens_for_neighbours_is_no_trouble(tmp_path: Path) -> None:
    found = finish(collect_lldp(plant(tmp_path, KVM)))
    assert (found.extras.neighbours, found.troubles) == (None, ())


@pytest.mark.parametrize("text", ["", "a:b", "a:b:c:d:e", "a:b:c:d:e:1:2", ":b:c:d:e:1", "a\\:b:c:d:e"])
def test_lines_that_name_no_neighbour(text: str) -> None:
    assert parse_neighbours(text) == ()


@pytest.mark.parametrize(("text", "vlan"), [("0", None), ("4094", 4094), ("4095", None), ("-1", None)])
def test_vlans_of_neighbours(text: str, vlan: int | None) -> None:
    assert parse_neighbours(f"a:b:c:d:e:{text}")[0].vlan_id == vlan
