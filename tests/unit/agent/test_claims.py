# SPDX-License-Identifier: Apache-2.0
"""Who else has an address of this host."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, ip_address
from pathlib import Path

from muster.agent.claims import find_rivals
from muster.agent.steps.arp import Pace
from tests.unit.agent.steps.recorded import Cable, Cut, Recorded, finish, good
from tests.unit.agent.steps.test_arp import reply_of

QUICK = Pace(wait_s=0.0)
OWN, SECOND, OTHER = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:09"


def machine(root: Path, address: str = "10.9.0.2", **answers: str) -> Recorded:
    for name, mac in (("eth0", OWN), ("eth1", SECOND)):
        (root / "sys/class/net" / name).mkdir(parents=True)
        (root / "sys/class/net" / name / "address").write_text(f"{mac}\n")
    info = {"local": address, "prefixlen": 64 if ":" in address else 24}
    link = {"ifname": "eth0", "link_type": "ether", "address": OWN, "mtu": 1500, "addr_info": [info]}
    said = {"ip -j -d address": good(json.dumps([link])), "ip -j -6 route": good("[]")}
    return Recorded({**said, **{start: good(text) for start, text in answers.items()}}, root)


def test_others_are_found_and_own_cards_are_not_others(tmp_path: Path) -> None:
    answers = [reply_of("10.9.0.2", OTHER), reply_of("10.9.0.2", SECOND), reply_of("10.9.0.2", OWN)]
    cable = Cable(lambda _: answers)
    found = finish(find_rivals(machine(tmp_path), ip_address("10.9.0.2"), wire=cable, pace=QUICK))
    assert found == (OTHER,)
    asked = cable.sent[0]
    assert IPv4Address(asked[28:32]).is_unspecified
    assert IPv4Address(asked[38:42]) == IPv4Address("10.9.0.2")


def test_nobody_is_asked_for_what_this_host_does_not_have(tmp_path: Path) -> None:
    cable = Cable(lambda _: [reply_of("10.9.0.3", OTHER)])
    assert finish(find_rivals(machine(tmp_path), ip_address("10.9.0.3"), wire=cable, pace=QUICK)) == ()
    assert cable.sent == []


def test_what_cannot_be_asked_is_nobody(tmp_path: Path) -> None:
    assert finish(find_rivals(machine(tmp_path), ip_address("10.9.0.2"), wire=Cut(), pace=QUICK)) == ()
    assert finish(find_rivals(Recorded({}), ip_address("10.9.0.2"), wire=Cut(), pace=QUICK)) == ()


def test_ipv6_is_asked_by_neighbour_discovery(tmp_path: Path) -> None:
    answers = {"ndisc6": f"{OTHER.upper()}\n"}
    found = finish(find_rivals(machine(tmp_path, "2001:db8::2", **answers), ip_address("2001:db8::2")))
    assert found == (OTHER,)
