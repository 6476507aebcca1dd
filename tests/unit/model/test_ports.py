# SPDX-License-Identifier: Apache-2.0
"""The table of ports, and the firewall rules that are rendered from it."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from itertools import combinations

import pytest

from muster.model.firewall import Surroundings, render_live, render_node
from muster.model.ports import PORTS, Port, Source, System, ports_of, render_ports

AROUND = Surroundings(
    hosts=(ip_network("192.0.2.0/24"), ip_network("2001:db8::/64")),
    members=(ip_address("192.0.2.10"), ip_address("192.0.2.11")),
    services=(ip_network("172.30.0.0/16"),),
    pods=(ip_network("10.128.0.0/14"), ip_network("fd01::/48")),
    vip_peers=(ip_address("192.0.2.11"), ip_address("2001:db8::11")),
)
NODES = (System.CONTROL_PLANE, System.ARBITER, System.WORKER)


def opened(text: str) -> set[str]:
    """Protocol and port of each rule."""
    return {" ".join(found) for found in re.findall(r"(tcp|udp) dport ([\d-]+) accept comment", text)} - {
        "udp 68",
        "udp 546",
    }


@pytest.mark.parametrize("system", NODES)
def test_a_node_opens_the_ports_of_its_role_and_no_others(system: System) -> None:
    assert opened(render_node((system,), AROUND)) == {
        f"{each.protocol} {each.text}" for each in PORTS if system in each.systems
    }


def test_a_live_host_opens_nothing_of_a_cluster() -> None:
    assert opened(render_live()) == {"tcp 22", "tcp 8090", "tcp 8091", "udp 8092", "udp 123"}


@pytest.mark.parametrize("text", [render_live(), *(render_node((each,), AROUND) for each in NODES)])
def test_whatever_is_not_allowed_is_dropped(text: str) -> None:
    assert "type filter hook input priority filter; policy drop;" in text
    assert ("hook forward priority filter; policy drop;" in text) == (text != render_live())
    assert "hook output" not in text
    body = text[text.index("chain input") :].split("\n")
    assert body.index("    jump site") < next(at for at, line in enumerate(body) if "tcp dport" in line)


def test_ports_of_the_cluster_are_open_to_its_networks_only() -> None:
    text = render_node((System.CONTROL_PLANE,), AROUND)
    hosts, pods = ("192.0.2.0/24", "2001:db8::/64"), ("10.128.0.0/14", "fd01::/48")
    for port in (2379, 2380):
        assert lines(text, port) == ["ip saddr { 192.0.2.10, 192.0.2.11 }"]
    assert lines(text, 10256) == [f"ip saddr {{ {hosts[0]} }}", f"ip6 saddr {{ {hosts[1]} }}"]
    assert lines(text, 10250) == [
        f"ip saddr {{ {hosts[0]}, {pods[0]} }}",
        f"ip6 saddr {{ {hosts[1]}, {pods[1]} }}",
    ]
    assert lines(text, 6443) == [""]


def test_pods_do_not_reach_what_hosts_open_to_each_other() -> None:
    text = render_node((System.WORKER,), AROUND)
    drop = [line.strip() for line in text.splitlines() if "for hosts" in line]
    assert drop == [
        'ip daddr { 192.0.2.0/24 } tcp dport { 2379, 2380, 10256 } drop comment "for hosts"',
        'ip daddr { 192.0.2.0/24 } udp dport { 123 } drop comment "for hosts"',
        'ip6 daddr { 2001:db8::/64 } tcp dport { 2379, 2380, 10256 } drop comment "for hosts"',
        'ip6 daddr { 2001:db8::/64 } udp dport { 123 } drop comment "for hosts"',
    ]
    assert text.index(drop[0]) < text.index("ct status dnat accept")


def test_a_redirection_does_not_open_what_hosts_open_to_each_other() -> None:
    text = render_node((System.CONTROL_PLANE,), AROUND)
    body = text[text.index("chain input") :].splitlines()
    drop = [
        line.strip().partition(" drop")[0] for line in body if "ct status dnat " in line and "drop" in line
    ]
    assert drop == [
        f"ct status dnat {match} {port}"
        for port, matches in (
            ("udp dport 123", ("ip saddr != { 192.0.2.0/24 }", "ip6 saddr != { 2001:db8::/64 }")),
            ("tcp dport 2379", ("ip saddr != { 192.0.2.10, 192.0.2.11 }", "meta nfproto ipv6")),
            ("tcp dport 2380", ("ip saddr != { 192.0.2.10, 192.0.2.11 }", "meta nfproto ipv6")),
            ("tcp dport 10256", ("ip saddr != { 192.0.2.0/24 }", "ip6 saddr != { 2001:db8::/64 }")),
        )
        for match in matches
    ]
    accept = next(number for number, line in enumerate(body) if "ct status dnat accept" in line)
    assert all(
        number < accept for number, line in enumerate(body) if "ct status dnat " in line and "drop" in line
    )


def test_addresses_of_services_are_for_hosts_and_pods() -> None:
    """A family of services that no host has an address of is for nobody."""
    sources = "ip saddr != { 192.0.2.0/24, 10.128.0.0/14 } "
    rule = "ct original ip daddr { 172.30.0.0/16 } drop"
    assert render_node((System.WORKER,), AROUND).count(sources + rule) == 2  # In both chains.
    text = render_node((System.WORKER,), Surroundings(services=(ip_network("172.30.0.0/16"),)))
    assert f"    {rule}" in text


def lines(text: str, port: int) -> list[str]:
    """What selects the clients in each rule of a port."""
    return [match.strip() for match in re.findall(rf"^ +(.*)tcp dport {port} accept", text, re.MULTILINE)]


def test_vrrp_is_taken_from_peers_on_the_same_link_only() -> None:
    rules = [line for line in render_node((System.WORKER,), AROUND).splitlines() if "l4proto vrrp" in line]
    assert [re.sub(" accept.*", "", line).strip() for line in rules] == [
        "ip saddr { 192.0.2.11 } ip ttl 255 meta l4proto vrrp",
        "ip6 saddr { 2001:db8::11 } ip6 hoplimit 255 meta l4proto vrrp",
    ]
    assert "l4proto vrrp" not in render_node((System.WORKER,), Surroundings())
    assert "l4proto vrrp" not in render_live()
    assert "meta l4proto != vrrp ct state established,related accept" in render_live()


def test_networks_that_overlap_are_merged() -> None:
    """nft refuses a set with elements that overlap, and with it all rules."""
    around = Surroundings(hosts=(ip_network("192.0.2.0/24"),), pods=(ip_network("192.0.0.0/16"),))
    assert lines(render_node((System.WORKER,), around), 10250) == ["ip saddr { 192.0.0.0/16 }"]


def test_the_page_names_every_port() -> None:
    page = render_ports()
    for port in PORTS:
        row = f"| {port.protocol} {port.text} | {port.name} | {', '.join(port.systems)} | "
        assert f"{row}{', '.join(port.sources)} | {port.why} |\n" in page


@pytest.mark.parametrize("port", PORTS, ids=lambda port: f"{port.protocol}-{port.text}-{port.systems[0]}")
def test_every_port_says_enough(port: Port) -> None:
    assert 0 < port.number < 1 << 16
    assert port.last == 0 or port.number < port.last < 1 << 16
    assert port.systems
    assert port.sources
    assert port.why.endswith(".")
    assert '"' not in port.name
    known = {Source.HOSTS, Source.MEMBERS, Source.PODS}
    assert System.LIVE not in port.systems or known.isdisjoint(port.sources), "a live host knows no networks"


def test_no_port_is_in_the_table_twice_for_one_system() -> None:
    for system in System:
        ranges = [(port.protocol, port.number, port.last or port.number) for port in ports_of((system,))]
        for one, other in combinations(ranges, 2):
            assert one[0] != other[0] or one[2] < other[1] or other[2] < one[1], (one, other)
