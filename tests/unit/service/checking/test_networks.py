# SPDX-License-Identifier: Apache-2.0
"""Static networks, judged while they are written."""

from __future__ import annotations

import pytest

from muster.model.wire.infra_env import HostStaticNetworkConfig, MacInterface
from muster.service.checking.networks import NetworksReport, NetworksToCheck, check_networks

GOOD = """\
interfaces:
  - name: eth0
    type: ethernet
    state: up
    mac-address: {mac}
    ipv4:
      enabled: true
      dhcp: false
      address:
        - ip: {ip}
          prefix-length: 24
routes:
  config:
    - destination: 0.0.0.0/0
      next-hop-address: {gateway}
      next-hop-interface: eth0
"""


def host(number: int, text: str = GOOD, **values: str) -> HostStaticNetworkConfig:
    mac = values.pop("mac", f"52:54:00:00:00:0{number}")
    words = {"mac": mac, "ip": f"192.0.2.1{number}", "gateway": "192.0.2.1", **values}
    card = MacInterface(mac_address=mac, logical_nic_name="eth0")
    return HostStaticNetworkConfig(network_yaml=text.format(**words), mac_interface_map=(card,))


def check(*hosts: HostStaticNetworkConfig, rendezvous_ip: str | None = None) -> NetworksReport:
    return check_networks(NetworksToCheck(hosts=hosts, rendezvous_ip=rendezvous_ip))


def errors(report: NetworksReport, number: int = 0) -> list[str]:
    return [each.message for each in report.hosts[number].problems if each.severity == "error"]


def test_good_networks_are_good() -> None:
    report = check(host(1), host(2), rendezvous_ip="192.0.2.11")
    assert report.valid
    assert [errors(report, 0), errors(report, 1)] == [[], []]
    assert len(report.hosts) == 2


def test_nothing_is_good() -> None:
    assert check() == NetworksReport(valid=True, hosts=())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("interfaces: [", 1),
        ("interfaces:\n  - name: eth0\n   type: ethernet\n", 3),
        ("- a\n- b\n", 1),
        ("just words", 1),
        ("", 1),
        ("a: 1\n---\nb: 2\n", 1),
        ("interfaces:\n  - name: eth0\n    type: ethernet\n    ipv4:\n      enabled: perhaps\n", 5),
    ],
)
def test_what_is_no_network_says_where(text: str, line: int) -> None:
    card = MacInterface(mac_address="52:54:00:00:00:01", logical_nic_name="eth0")
    report = check(HostStaticNetworkConfig(network_yaml=text, mac_interface_map=(card,)))
    assert not report.valid
    problems = [each for each in report.hosts[0].problems if each.severity == "error"]
    assert problems[0].line == line
    assert problems[0].message


def test_a_host_without_a_card_and_one_with_too_much_text() -> None:
    none = HostStaticNetworkConfig(
        network_yaml=GOOD.format(mac="52:54:00:00:00:01", ip="192.0.2.11", gateway="192.0.2.1")
    )
    assert errors(check(none)) == ["no card is named"]
    assert "longer than" in errors(check(HostStaticNetworkConfig(network_yaml="#" * (2 << 20))))[0]
    assert "no card" in errors(check(HostStaticNetworkConfig()))[-1]


def test_hosts_are_judged_against_each_other() -> None:
    report = check(host(1), host(2, ip="192.0.2.11"))
    assert not report.valid
    (problem,) = (each for each in report.hosts[1].problems if each.severity == "error")
    assert "192.0.2.11" in problem.message
    assert problem.line == 10
    assert problem.fix


def test_a_card_that_two_hosts_have() -> None:
    report = check(host(1), host(2, mac="52:54:00:00:00:01"))
    assert not report.valid
    assert any("52:54:00:00:00:01" in each for each in errors(report, 1))


def test_a_gateway_out_of_reach_has_its_line() -> None:
    report = check(host(1, gateway="198.51.100.1"))
    found = [each for each in report.hosts[0].problems if "198.51.100.1" in each.message]
    assert found
    assert found[0].line == 15


@pytest.mark.parametrize("ip", ["192.0.2.99", "not an address", "'; drop", "é\n  x: y"])
def test_a_rendezvous_ip_that_no_host_has_or_that_is_none(ip: str) -> None:
    report = check(host(1), host(2), rendezvous_ip=ip)
    assert report.problems
    assert len(report.hosts) == 2


def test_too_many_hosts_are_told_at_once() -> None:
    report = check(*(host(1) for _ in range(201)))
    assert not report.valid
    assert "201 hosts" in report.problems[0].message


def test_networks_are_bounded_together() -> None:
    long = GOOD + "#" * 60_000
    report = check(*(host(number, long) for number in range(1, 10)), rendezvous_ip="192.0.2.11")
    assert not report.valid
    assert [each.message for each in report.problems] == ["the networks are longer than 512 KiB in all"]
    assert len(report.hosts) == 9


def test_findings_of_one_host_are_bounded() -> None:
    report = check(host(1, "interfaces:\n" + "- !a b\n" * 1000))
    assert len(report.hosts[0].problems) == 200
