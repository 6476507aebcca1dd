# SPDX-License-Identifier: Apache-2.0
"""What of peers is found out, and what is told of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from muster.agent.steps.connectivity_check import AT_ONCE, make_report, plan_probes, run
from muster.agent.steps.nics import parse_nics
from muster.agent.steps.outcome import BadArguments
from muster.model.wire.reports import L3Connectivity
from muster.model.wire.steps import ConnectivityCheckHost, ConnectivityCheckNic
from muster.run import Said
from tests.unit.agent.steps.recorded import Recorded, finish, good
from tests.unit.agent.steps.test_nics import link
from tests.unit.agent.steps.test_probes import PING, SILENT

LINKS = json.dumps([link("eth0", "10.9.0.1/24", "fd00:9::1/64")])
MAC = "02:00:00:00:00:02"
GOOD: Mapping[str, Said | Sequence[Said]] = {
    "ip -j -d address": good(LINKS),
    "ping": good(PING),
    "arping": good(f"Unicast reply from 10.9.0.2 [{MAC.upper()}]  0.5ms\n"),
    "ndisc6": good(f"{MAC.upper()}\n"),
}


def peer(id: str, *addresses: str, mac: str = MAC) -> dict[str, Any]:
    return {"host_id": id, "nics": [{"name": "eth0", "mac": mac, "ip_addresses": list(addresses)}]}


def check(machine: Recorded, *peers: dict[str, Any]) -> list[dict[str, Any]]:
    done = finish(run(machine, [json.dumps(peers)]))
    assert done.exit_code == 0
    found: list[dict[str, Any]] = json.loads(done.output)["remote_hosts"]
    return found


def test_all_well() -> None:
    (found,) = check(Recorded(GOOD), peer("b", "10.9.0.2/24", "fd00:9::2/64"))
    assert found == {
        "host_id": "b",
        "l2_connectivity": [
            {
                "outgoing_nic": "eth0",
                "outgoing_ip_address": own,
                "remote_ip_address": theirs,
                "remote_mac": MAC,
                "successful": True,
            }
            for own, theirs in (("10.9.0.1", "10.9.0.2"), ("fd00:9::1", "fd00:9::2"))
        ],
        "l3_connectivity": [
            {
                "remote_ip_address": theirs,
                "successful": True,
                "average_rtt_ms": 0.099,
                "packet_loss_percentage": 10.0,
            }
            for theirs in ("10.9.0.2", "fd00:9::2")
        ],
        "mtu_report": [
            {"outgoing_nic": "eth0", "remote_ip_address": theirs, "mtu_successful": True}
            for theirs in ("10.9.0.2", "fd00:9::2")
        ],
    }


def test_silence_has_rows_but_no_verdict_on_packet_sizes() -> None:
    silent = Recorded({**GOOD, "ping": Said(1, SILENT, ""), "arping": Said(1, "", "")})
    (found,) = check(silent, peer("b", "10.9.0.2/24"))
    assert [(row["successful"], "remote_mac" in row) for row in found["l2_connectivity"]] == [(False, False)]
    assert found["l3_connectivity"] == [
        {"remote_ip_address": "10.9.0.2", "successful": False, "packet_loss_percentage": 100.0}
    ]
    assert found["mtu_report"] == []


def test_another_mac_is_a_conflict() -> None:
    (found,) = check(Recorded(GOOD), peer("b", "10.9.0.2/24", mac="02:00:00:00:00:77"))
    assert [(row["remote_mac"], row["successful"]) for row in found["l2_connectivity"]] == [(MAC, False)]


def test_a_peer_may_answer_with_any_of_its_cards() -> None:
    two = peer("b", "10.9.0.2/24", mac="02:00:00:00:00:77")
    two["nics"].append({"name": "eth1", "mac": MAC.upper(), "ip_addresses": []})
    (found,) = check(Recorded(GOOD), two)
    assert [row["successful"] for row in found["l2_connectivity"]] == [True]


@pytest.mark.parametrize(
    ("mtu", "address", "size"),
    [(1500, "10.9.0.2", 1472), (9000, "10.9.0.2", 8972), (9000, "fd00:9::2", 8952)],
)
def test_packets_of_full_size(mtu: int, address: str, size: int) -> None:
    links = json.dumps([link("eth0", "10.9.0.1/24", "fd00:9::1/64", mtu=mtu)])
    large = f"ping -n -q -i 0.2 -c 3 -W 1 -I eth0 -M do -s {size} {address}"
    (found,) = check(
        Recorded({**GOOD, "ip -j -d address": good(links), large: Said(1, "", "")}), peer("b", address)
    )
    assert [row["mtu_successful"] for row in found["mtu_report"]] == [False]


def test_what_could_not_be_tested_has_no_row_and_a_reason() -> None:
    machine = Recorded({**GOOD, "arping": Said(2, "", "arping: Device eth0 not available.")})
    done = finish(run(machine, [json.dumps([peer("b", "10.9.0.2/24")])]))
    (found,) = json.loads(done.output)["remote_hosts"]
    assert found["l2_connectivity"] == []
    assert len(found["l3_connectivity"]) == 1
    assert done.error == "arping: Device eth0 not available."


def test_elsewhere_is_only_pinged() -> None:
    (found,) = check(Recorded(GOOD), peer("b", "10.8.0.2/24"))
    assert (found["l2_connectivity"], found["mtu_report"]) == ([], [])
    assert [row["remote_ip_address"] for row in found["l3_connectivity"]] == ["10.8.0.2"]


def test_peers_are_in_order_and_bad_addresses_left_out() -> None:
    found = check(Recorded(GOOD), peer("b", "10.9.0.3/24", "10.9.0.2/24", "fe80::1/64", "x"), peer("a"))
    assert [each["host_id"] for each in found] == ["a", "b"]
    assert [row["remote_ip_address"] for row in found[1]["l3_connectivity"]] == ["10.9.0.2", "10.9.0.3"]


def test_many_peers_are_not_all_probed_at_once() -> None:
    machine = Recorded(GOOD)
    found = check(machine, *(peer(f"{number:03}", f"10.9.0.{number}/24") for number in range(2, 202)))
    assert len(found) == 200
    assert machine.most_at_once == AT_ONCE


def test_a_peer_that_was_not_checked_in_time_is_left_out() -> None:
    peers = [
        ConnectivityCheckHost(host_id=id, nics=(ConnectivityCheckNic(ip_addresses=("10.8.0.2/24",)),))
        for id in ("a", "b")
    ]
    probes = tuple(plan_probes(peers, parse_nics(LINKS)))
    report, late = make_report(peers, probes, {0: [L3Connectivity(remote_ip_address="10.8.0.2")]})
    assert [each.host_id for each in report.remote_hosts or ()] == ["a"]
    assert late == 1


def test_interfaces_that_cannot_be_listed() -> None:
    done = finish(run(Recorded({}), ["[]"]))
    assert (done.output, done.exit_code) == ("", 1)
    assert done.error == "cannot list interfaces: the program ip is not there"


@pytest.mark.parametrize("args", [[], ["{}"], ["x"], ['[{"nics": 5}]']])
def test_bad_arguments(args: list[str]) -> None:
    with pytest.raises(BadArguments):
        finish(run(Recorded(GOOD), args))
