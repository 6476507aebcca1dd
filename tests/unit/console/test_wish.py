# SPDX-License-Identifier: Apache-2.0
"""What somebody types in about the network, and what NetworkManager is told."""

from __future__ import annotations

from typing import Any

import pytest

from muster.console.profile import (
    PROFILE_FIELDS,
    Profile,
    parse_profile,
    render_change,
    render_commands,
    render_start,
)
from muster.console.wish import Bond, Family, Typed, WrongWish, parse_wish


def settings(argv: list[str]) -> dict[str, str]:
    """The settings at the end of a command."""
    start = argv.index("ipv4.method")
    return dict(zip(argv[start::2], argv[start + 1 :: 2], strict=True))


def test_a_static_network() -> None:
    typed = Typed("192.0.2.10/24", " 192.0.2.1 ", "fd00::10/64", "fe80::1", "192.0.2.53, fd00::53")
    wish = parse_wish("eth0", typed)
    assert wish.ipv4 == Family("manual", "192.0.2.10/24", "192.0.2.1")
    assert wish.ipv6 == Family("manual", "fd00::10/64", "fe80::1")
    argv = render_change(wish, Profile("u-1"))
    assert argv[:5] == ["nmcli", "connection", "modify", "uuid", "u-1"]
    assert settings(argv) == {
        "ipv4.method": "manual",
        "ipv4.addresses": "192.0.2.10/24",
        "ipv4.gateway": "192.0.2.1",
        "ipv4.dns": "192.0.2.53",
        "ipv6.method": "manual",
        "ipv6.addresses": "fd00::10/64",
        "ipv6.gateway": "fe80::1",
        "ipv6.dns": "fd00::53",
    }
    assert render_start(wish, Profile("u-1"))[-2:] == ["uuid", "u-1"]


def test_what_was_static_is_gone_with_dhcp() -> None:
    found = settings(render_change(parse_wish("eth0", Typed("dhcp", ipv6="off")), Profile("u-1")))
    assert found["ipv4.method"] == "auto"
    assert found["ipv4.addresses"] == found["ipv4.gateway"] == ""
    assert (found["ipv6.method"], found["ipv6.routes"]) == ("disabled", "")


def test_an_interface_without_a_profile_gets_one() -> None:
    wish = parse_wish("eth0", Typed())
    assert render_change(wish, Profile())[:8] == [
        *("nmcli", "connection", "add", "type", "ethernet", "con-name", "eth0", "ifname"),
    ]
    assert render_start(wish, Profile())[-2:] == ["id", "eth0"]


def test_a_vlan_is_an_interface_of_its_own() -> None:
    wish = parse_wish("eth0", Typed("192.0.2.10/24", vlan="42"))
    argv = render_change(wish, Profile("u-1"))
    assert argv[:13] == [
        *("nmcli", "connection", "add", "type", "vlan", "con-name", "eth0.42", "ifname", "eth0.42"),
        *("dev", "eth0", "id", "42"),
    ]
    assert render_start(wish, Profile("u-1"))[-2:] == ["id", "eth0.42"]


@pytest.mark.parametrize(
    ("typed", "field", "words"),
    [
        ({"ipv4": "192.0.2.10"}, "ipv4", "192.0.2.10/24"),
        ({"ipv4": ""}, "ipv4", "nothing is no address"),
        ({"ipv4": "192.0.2.300/24"}, "ipv4", "no address"),
        ({"ipv4": "fd00::1/64"}, "ipv4", "is an IPv6 address"),
        ({"ipv6": "192.0.2.1/24"}, "ipv6", "is an IPv4 address"),
        ({"ipv4": "192.0.2.0/24"}, "ipv4", "of the network itself"),
        ({"ipv4": "192.0.2.255/24"}, "ipv4", "broadcast"),
        ({"ipv4": "127.0.0.1/8"}, "ipv4", "cannot be the address of a host"),
        ({"ipv4": "192.0.2.10/24", "gateway4": "198.51.100.1"}, "gateway4", "cannot be reached"),
        ({"ipv4": "192.0.2.10/24", "gateway4": "192.0.2.10"}, "gateway4", "this host itself"),
        ({"ipv4": "192.0.2.10/24", "gateway4": "x"}, "gateway4", "x is no address"),
        ({"ipv4": "dhcp", "gateway4": "192.0.2.1"}, "gateway4", "leave it empty"),
        ({"ipv4": "off", "ipv6": "off"}, "ipv4", "one family has to be on"),
        ({"dns": "192.0.2.53 dns.example.com"}, "dns", "dns.example.com is no address"),
        ({"vlan": "0"}, "vlan", "between 1 and 4094"),
        ({"vlan": "4095"}, "vlan", "between 1 and 4094"),
        ({"vlan": "x"}, "vlan", "between 1 and 4094"),
        ({"vlan": "9" * 5000}, "vlan", "between 1 and 4094"),
    ],
)
def test_what_cannot_be(typed: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(WrongWish, match=words) as caught:
        parse_wish("eth0", Typed(**typed))
    assert caught.value.field == field


def test_hosts_of_a_point_to_point_link() -> None:
    assert parse_wish("eth0", Typed("192.0.2.0/31", "192.0.2.1")).ipv4.address == "192.0.2.0/31"


def said(**values: str) -> str:
    """What nmcli says of a profile."""
    given = {name.replace("_", "."): value for name, value in values.items()}
    return "\n".join(given.get(each, "") for each in PROFILE_FIELDS) + "\n"


def test_a_profile_of_the_site_fills_the_form() -> None:
    text = said(
        ipv4_method="manual",
        ipv4_addresses="192.0.2.10/24, 192.0.2.11/24",
        ipv4_dns="192.0.2.53,192.0.2.54",
        ipv4_routes="10.0.0.0/8 192.0.2.2, 0.0.0.0/0 192.0.2.1 10 table=254",
        ipv6_method="disabled",
    )
    found = parse_profile("u-1", text)
    assert found.typed == Typed("192.0.2.10/24", "192.0.2.1", "off", "", "192.0.2.53 192.0.2.54")
    wish = parse_wish("eth0", Typed("192.0.2.20/24", "192.0.2.254", "off"))
    argv = render_change(wish, found)
    # Else the old gateway would stay beside the new one.
    assert argv[argv.index("-ipv4.routes") + 1] == "1"


@pytest.mark.parametrize(
    "text", ["", "\n", "nonsense", said(ipv4_method="shared", ipv4_routes=", 0.0.0.0/0, ::/0 100,,")]
)
def test_a_profile_that_makes_no_sense(text: str) -> None:
    assert parse_profile("u-1", text).uuid == "u-1"


def test_a_profile_that_looks_after_itself() -> None:
    assert parse_profile("u-1", said(ipv4_method="auto", ipv6_method="auto")).typed == Typed()


CARDS = ("eth0", "eth1", "eth2", "eth0.7")


def test_a_bond() -> None:
    wish = parse_wish("eth0", Typed("192.0.2.10/24", bond="eth1, eth2"), CARDS)
    assert wish.bond == Bond("bond0", ("eth0", "eth1", "eth2"), "active-backup")
    commands = [" ".join(each) for each in render_commands(wish, Profile("u-1"))]
    ports = commands[:3]
    assert ports[0].startswith(
        "nmcli connection add type ethernet con-name bond0-eth0 ifname eth0 master bond0"
    )
    assert commands[3].startswith(
        "nmcli connection add type bond con-name bond0 ifname bond0"
        " bond.options mode=active-backup,miimon=100 ipv4.method manual ipv4.addresses 192.0.2.10/24"
    )
    assert commands[4:] == [
        f"nmcli --wait 25 connection up id {name}"
        for name in ("bond0-eth0", "bond0-eth1", "bond0-eth2", "bond0")
    ]


def test_a_vlan_on_a_bond() -> None:
    wish = parse_wish("eth0", Typed(vlan="42", bond="eth1", mode="802.3AD"), (*CARDS, "bond0"))
    commands = [" ".join(each) for each in render_commands(wish, Profile())]
    assert commands[0].endswith(
        "bond.options mode=802.3ad,miimon=100 ipv4.method disabled ipv6.method disabled"
    )
    assert "type vlan con-name bond1.42 ifname bond1.42 dev bond1 id 42 ipv4.method auto" in commands[3]
    assert commands[-1].endswith("up id bond1.42")


@pytest.mark.parametrize(
    ("more", "field", "words"),
    [
        ({"bond": "eth9"}, "bond", "Bond with: eth9 is no card of this host; there are: eth0, eth0.7, eth1"),
        ({"bond": "eth0.7"}, "bond", "is no card"),
        ({"bond": "eth0"}, "bond", "cannot be bonded with itself"),
        ({"bond": "eth1", "mode": "fast"}, "mode", "fast is none of active-backup"),
        ({"bond": "eth1", "mode": ""}, "mode", "nothing is none of"),
    ],
)
def test_bonds_that_cannot_be(more: dict[str, str], field: str, words: str) -> None:
    with pytest.raises(WrongWish, match=words) as caught:
        parse_wish("eth0", Typed(**more), CARDS)
    assert caught.value.field == field


def test_the_name_of_an_interface_has_its_limit() -> None:
    with pytest.raises(WrongWish, match="too long"):
        parse_wish("enp129s0f0np0v", Typed(vlan="4000"))
