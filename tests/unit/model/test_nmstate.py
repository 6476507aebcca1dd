# SPDX-License-Identifier: Apache-2.0
"""What is read from an NMState document: as much as nmstate itself takes, and without a word."""

from __future__ import annotations

from ipaddress import ip_address
from textwrap import dedent

import pytest

from muster.config.document.bind import Binder
from muster.config.document.parse import parse_yaml
from muster.model.nmstate import Identifier, Interface, InterfaceState, InterfaceType, NMState
from muster.model.problem import Place
from muster.model.tree import Source

BOND = """\
interfaces:
- name: bond0.100
  type: vlan
  state: up
  vlan:
    base-iface: bond0
    id: "100"
  ipv4:
    enabled: true
    dhcp: false
    address:
    - ip: 192.0.2.10
      prefix-length: 24
  ipv6:
    enabled: "yes"
    autoconf: no
    address:
    - ip: 2001:db8::10
      prefix-length: "64"
- name: bond0
  type: bond
  link-aggregation:
    mode: 802.3ad
    options:
      miimon: "140"
    port: [eno1, eno2]
- name: eno1
  type: ethernet
  identifier: mac-address
  mac-address: 52:54:00:AB:CD:EF
  mtu: 9000
  ethtool:
    feature: {rx-gro: true}
dns-resolver:
  config:
    server: [192.0.2.1, "fe80::1%bond0"]
    search: [example.com]
routes:
  config:
  - destination: 0.0.0.0/0
    next-hop-address: 192.0.2.1
    next-hop-interface: bond0.100
    table-id: 254
  - destination: ::/0
    next-hop-address: 2001:db8::1
    next-hop-interface: bond0.100
"""


def read(text: str) -> NMState:
    documents, problems = parse_yaml(Source("agent-config.yaml", dedent(text)))
    binder = Binder()
    state = binder.bind(NMState, documents[0])
    assert state is not None
    assert problems == []
    assert binder.problems == []
    return state


def read_interface(text: str) -> Interface:
    return read(
        "interfaces:\n- name: eno1\n" + "".join(f"  {line}\n" for line in text.splitlines())
    ).interfaces[0]


def test_a_realistic_document() -> None:
    state = read(BOND)
    vlan, bond, card = state.interfaces
    assert (vlan.type, vlan.state) == (InterfaceType.VLAN, InterfaceState.UP)
    assert vlan.vlan is not None
    assert (vlan.vlan.base_iface, vlan.vlan.id) == ("bond0", 100)
    assert bond.link_aggregation is not None
    assert (bond.link_aggregation.mode, bond.link_aggregation.port) == ("802.3ad", ("eno1", "eno2"))
    assert (card.identifier, card.mac_address, card.mtu) == (
        Identifier.MAC_ADDRESS,
        "52:54:00:ab:cd:ef",
        9000,
    )
    assert state.dns_resolver is not None
    assert state.dns_resolver.config is not None
    assert state.dns_resolver.config.server == ("192.0.2.1", "fe80::1%bond0")


def test_addresses_come_with_interface_prefix_and_place() -> None:
    found = list(read(BOND).addresses())
    assert [(each.interface.name, str(each.ip), each.prefix_length) for each in found] == [
        ("bond0.100", "192.0.2.10", 24),
        ("bond0.100", "2001:db8::10", 64),
    ]
    assert [Place.of(each.node).position for each in found] == [(12, 11), (18, 11)]


def test_default_gateways_come_with_their_place() -> None:
    found = list(read(BOND).default_gateways())
    assert [(str(each.address), each.interface) for each in found] == [
        ("192.0.2.1", "bond0.100"),
        ("2001:db8::1", "bond0.100"),
    ]
    assert [Place.of(each.node).position for each in found] == [(41, 23), (45, 23)]


def test_names_with_an_entry_and_names_that_are_only_mentioned() -> None:
    state = read(BOND)
    assert state.interface_names() == ("bond0.100", "bond0", "eno1")
    assert state.mentioned_names() == ("bond0.100", "bond0", "eno1", "eno2")


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("bond: {mode: 1, ports: [eno1]}", ["eno1"]),
        ("link-aggregation: {port: [eno1, eno2]}", ["eno1", "eno2"]),
        ("bridge: {port: [{name: eno1, stp-priority: 5}, {vlan: {}}]}", ["eno1"]),
        ("bridge: {ports: [{name: eno2}]}", ["eno2"]),
        ("vrf: {port: [eno2], route-table-id: 100}", ["eno2"]),
        ("vlan: {id: 5}", []),
    ],
)
def test_ports_under_all_their_names(part: str, names: list[str]) -> None:
    assert [name for name, _ in read_interface(part).port_names()] == names


@pytest.mark.parametrize("part", ["vlan", "mac-vlan", "mac-vtap", "ipvlan", "vxlan", "macsec", "infiniband"])
def test_the_interface_below(part: str) -> None:
    found = list(read_interface(f"{part}: {{base-iface: eno7, port: 1}}").base_names())
    assert [(name, Place.of(node).position[0]) for name, node in found] == [("eno7", 3)]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("true", True), ("TRUE", True), ("yes", True), ('"on"', True), ("1", True), ("y", True),
        ("false", False), ('"no"', False), ("0", False), ("OFF", False),
        ("maybe", None), ("2", None), ("~", None),
    ],
)  # fmt: skip
def test_truth_values_in_all_forms(written: str, meant: bool | None) -> None:
    interface = read_interface(f"ipv4: {{dhcp: {written}}}")
    assert interface.ipv4 is not None
    assert interface.ipv4.dhcp is meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("24", 24), ('"24"', 24), ("+24", 24), ("024", 24), ("0x18", 24), ('"0x18"', 24),
        ("24.0", None), ("/24", None), ('""', None), ('" 24"', None), ("9" * 40, None), ("٣", None),
    ],
)  # fmt: skip
def test_numbers_in_all_forms(written: str, meant: int | None) -> None:
    assert read_interface(f"mtu: {written}").mtu == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("52:54:00:AB:CD:EF", "52:54:00:ab:cd:ef"),
        ("52-54-00-ab-cd-ef", "52:54:00:ab:cd:ef"),
        ("junk", None),
        ("52:54:00:ab:cd", None),
    ],
)
def test_mac_addresses_in_all_forms(written: str, meant: str | None) -> None:
    interface = read_interface(f"mac-address: {written}")
    assert interface.mac_address == meant
    assert interface.has("mac_address")


@pytest.mark.parametrize(
    "written", ["192.0.2.10/24", "192.0.2.010", "fe80::1%eno1", "host", '""', '" 192.0.2.1"']
)
def test_an_address_that_nmstate_refuses_is_none(written: str) -> None:
    interface = read_interface(f"ipv4: {{enabled: true, address: [{{ip: {written}, prefix-length: 24}}]}}")
    assert interface.ipv4 is not None
    assert [each.ip for each in interface.ipv4.address] == [None]


def test_an_unknown_type_can_be_told_from_none() -> None:
    misspelt, absent = read_interface("type: etherent"), read_interface("mtu: 1500")
    assert (misspelt.type, misspelt.has("type")) == (None, True)
    assert (absent.type, absent.has("type")) == (None, False)


@pytest.mark.parametrize(
    ("state", "enabled", "count"),
    [
        ("up", "true", 1), ("~", "true", 1), ("down", "true", 0), ("absent", "true", 0),
        ("ignore", "true", 0), ("unknown", "true", 0), ("up", "false", 0), ("up", "~", 0),
    ],
)  # fmt: skip
def test_addresses_are_those_that_the_host_will_have(state: str, enabled: str, count: int) -> None:
    found = read(f"""\
        interfaces:
        - name: eno1
          state: {state}
          ipv4: {{enabled: {enabled}, address: [{{ip: 192.0.2.10, prefix-length: 24}}]}}
        """)
    assert len(list(found.addresses())) == count


def test_an_address_without_prefix_is_still_an_address() -> None:
    found = read("interfaces: [{name: eno1, ipv6: {enabled: true, address: [{ip: '2001:db8::1'}]}}]")
    ((interface, ip, prefix_length, _),) = found.addresses()
    assert (interface.name, ip, prefix_length) == ("eno1", ip_address("2001:db8::1"), None)


def test_link_local_addresses_are_left_out_as_nmstate_does() -> None:
    found = read(
        "interfaces: [{name: eno1, ipv6: {enabled: true, address: [{ip: 'fe80::1', prefix-length: 64}]}}]"
    )
    assert list(found.addresses()) == []


@pytest.mark.parametrize(
    "route",
    [
        "destination: 198.51.100.0/24",
        "destination: 0.0.0.0/0, state: absent",
        "destination: 0.0.0.0/0, state: ignore",
        "destination: 0.0.0.0/0, table-id: 100",
        "destination: 0.0.0.0/0, vrf-name: vrf0",
        "destination: 0.0.0.0/0, route-type: blackhole",
        "destination: default",
        "metric: 5",
    ],
)
def test_routes_that_are_no_default_gateway(route: str) -> None:
    state = read(f"routes: {{config: [{{{route}, next-hop-address: 192.0.2.1, next-hop-interface: eno1}}]}}")
    assert list(state.default_gateways()) == []


def test_a_gateway_without_address_stands_where_its_route_does() -> None:
    state = read("""\
        routes:
          config:
          - destination: 192.0.2.0/0
            next-hop-interface: eno1
        """)
    (gateway,) = state.default_gateways()
    assert (gateway.address, gateway.interface, gateway.node) == (None, "eno1", gateway.route.node)


def test_an_interface_is_found_by_its_name_and_else_by_its_profile() -> None:
    state = read("interfaces: [{name: a, profile-name: b}, {name: b, profile-name: c}]")
    found = [state.find_interface(name) for name in ("a", "b", "c", "d")]
    assert [interface and interface.name for interface in found] == ["a", "b", "b", None]


def test_an_empty_document_says_nothing() -> None:
    state = read("{}")
    assert list(state.addresses()) == []
    assert list(state.default_gateways()) == []
    assert state.interface_names() == state.mentioned_names() == ()
