# SPDX-License-Identifier: Apache-2.0
"""ARP: its frames, and asking for many addresses, for free ones and for virtual ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network

import pytest

from muster.agent.steps import free_network_addresses, verify_vips
from muster.agent.steps.arp import Asker, Pace, find_owners, parse_mac, parse_owner, render_request
from muster.agent.steps.free_network_addresses import list_candidates, parse_networks, split_network
from muster.agent.steps.outcome import BadArguments
from muster.run import Said
from tests.unit.agent.steps.recorded import Cable, Cut, Recorded, finish, good
from tests.unit.agent.steps.test_nics import link

ASKER = Asker("eth0", "02:00:00:00:00:01", IPv4Address("10.9.0.1"))
QUICK = Pace(burst=32, gap_s=0, wait_s=0)
REQUEST = bytes.fromhex(
    "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a090001 000000000000 0a090002"
)
MACHINE = {"ip -j -d address": good(json.dumps([link("eth0", "10.9.0.1/24", "fd00:9::1/64")]))}


def reply_of(address: str, mac: str = "02:00:00:00:00:02") -> bytes:
    head = "020000000001 020000000002 0806 0001 0800 06 04 0002"
    return bytes.fromhex(head) + parse_mac(mac) + IPv4Address(address).packed + REQUEST[22:32] + bytes(18)


def owned_by(*macs: str, used: Sequence[str]) -> Callable[[bytes], list[bytes]]:
    """A network in which some addresses are used."""

    def answer(frame: bytes) -> list[bytes]:
        target = str(IPv4Address(frame[38:42]))
        return [reply_of(target, mac) for mac in macs] if target in used else []

    return answer


def test_frames() -> None:
    assert render_request(ASKER, IPv4Address("10.9.0.2")) == REQUEST
    assert parse_owner(reply_of("10.9.0.2")) == (IPv4Address("10.9.0.2"), "02:00:00:00:00:02")
    assert parse_owner(REQUEST) == (IPv4Address("10.9.0.1"), "02:00:00:00:00:01")


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        REQUEST[:41],
        REQUEST.replace(b"\x08\x06", b"\x08\x00"),
        REQUEST.replace(b"\x06\x04", b"\x08\x04"),
        reply_of("0.0.0.0"),
    ],
    ids=["nothing", "cut", "no ARP", "other lengths", "who has no address yet"],
)
def test_frames_that_say_nothing(frame: bytes) -> None:
    assert parse_owner(frame) is None


@pytest.mark.parametrize("mac", ["", "02:00", "02:00:00:00:00:0g", "80:00:02:08:fe:80:00:00"])
def test_what_is_no_mac(mac: str) -> None:
    with pytest.raises(ValueError, match=r"MAC|hexadecimal"):
        parse_mac(mac)


def test_who_answered_is_not_asked_again() -> None:
    cable = Cable(owned_by("02:00:00:00:00:02", used=["10.9.0.2"]))
    targets = [IPv4Address("10.9.0.2"), IPv4Address("10.9.0.3")]
    owners = finish(find_owners(cable, ASKER, targets, QUICK))
    assert owners == {targets[0]: {"02:00:00:00:00:02"}}
    assert [str(IPv4Address(frame[38:42])) for frame in cable.sent] == ["10.9.0.2", "10.9.0.3", "10.9.0.3"]
    assert cable.opened == [("eth0", 0x0806)]


def test_a_lost_request_is_made_up_for() -> None:
    heard: list[bytes] = []

    def answer(frame: bytes) -> list[bytes]:
        heard.append(frame)
        return [reply_of("10.9.0.2")] if len(heard) == 2 else []

    target = IPv4Address("10.9.0.2")
    assert target in finish(find_owners(Cable(answer), ASKER, [target], QUICK))


def test_all_who_have_an_address_and_nobody_else() -> None:
    def answer(frame: bytes) -> list[bytes]:
        return [
            reply_of("10.9.0.2", "02:00:00:00:00:03"),
            reply_of("10.9.0.2"),
            reply_of("10.9.0.4"),
            reply_of("10.9.0.2", ASKER.mac),
            b"noise",
        ]

    target = IPv4Address("10.9.0.2")
    owners = finish(find_owners(Cable(answer), ASKER, [target], QUICK))
    assert owners == {target: {"02:00:00:00:00:02", "02:00:00:00:00:03"}}


def test_parts_and_ends_of_subnets() -> None:
    assert [str(part) for part in split_network(IPv4Network("10.0.0.0/21"))] == ["10.0.0.0/22", "10.0.4.0/22"]
    assert list(split_network(IPv4Network("10.0.0.0/24"))) == [IPv4Network("10.0.0.0/24")]

    def listed(network: str, part: str) -> list[str]:
        return [str(each) for each in list_candidates(IPv4Network(network), IPv4Network(part))]

    assert listed("10.0.0.0/30", "10.0.0.0/30") == ["10.0.0.1", "10.0.0.2"]
    assert listed("10.0.0.0/31", "10.0.0.0/31") == ["10.0.0.0", "10.0.0.1"]
    assert listed("10.0.0.0/29", "10.0.0.4/30") == ["10.0.0.4", "10.0.0.5", "10.0.0.6"]


@pytest.mark.parametrize("text", ["10.0.0.1/24", "x", "fd00::/64"])
def test_what_is_no_subnet(text: str) -> None:
    with pytest.raises(BadArguments):
        parse_networks([text])


def free_of(cable: Cable, *networks: str) -> tuple[list[dict[str, object]], str]:
    done = finish(
        free_network_addresses.run(Recorded(MACHINE), [json.dumps(networks)], wire=cable, pace=QUICK)
    )
    assert done.exit_code == 0
    return json.loads(done.output), done.error


def test_free_addresses_are_neither_used_nor_our_own() -> None:
    cable = Cable(owned_by("02:00:00:00:00:02", used=["10.9.0.2", "10.9.0.4"]))
    found, error = free_of(cable, "10.9.0.0/29", "10.9.0.0/29")
    assert found == [{"network": "10.9.0.0/29", "free_addresses": ["10.9.0.3", "10.9.0.5", "10.9.0.6"]}]
    assert error == ""


def test_a_subnet_that_is_not_ours_is_not_guessed() -> None:
    found, error = free_of(Cable(owned_by(used=[])), "10.9.0.0/29", "10.44.0.0/24")
    assert [each["network"] for each in found] == ["10.9.0.0/29"]
    assert error == "10.44.0.0/24: this host has no address in it"


def test_no_more_free_addresses_than_anybody_needs() -> None:
    links = [link("eth0", "10.0.0.1/16")]
    machine = Recorded({"ip -j -d address": good(json.dumps(links))})
    cable = Cable(owned_by(used=[]))
    done = finish(free_network_addresses.run(machine, ['["10.0.0.0/16"]'], wire=cable, pace=QUICK))
    (found,) = json.loads(done.output)
    assert len(found["free_addresses"]) == free_network_addresses.MAX_FREE
    assert len(cable.sent) < 3 * free_network_addresses.MAX_FREE


def test_without_the_right_to_ask() -> None:
    done = finish(free_network_addresses.run(Recorded(MACHINE), ['["10.9.0.0/24"]'], wire=Cut(), pace=QUICK))
    assert (done.exit_code, done.output) == (1, "")
    assert done.error == "10.9.0.0/24: cannot ask through eth0: Operation not permitted"


def verdicts(machine: Recorded, wire: Cable | Cut, *vips: str) -> tuple[dict[str, str], str]:
    argument = json.dumps([{"vip": vip, "vip_type": "ingress"} for vip in vips])
    done = finish(verify_vips.run(machine, [argument], wire=wire, pace=QUICK))
    assert done.exit_code == 0
    rows = json.loads(done.output)
    assert {row["vip_type"] for row in rows} == {"ingress"}
    return {row["vip"]: row["verification"] for row in rows}, done.error


def test_virtual_addresses() -> None:
    answers = {
        **MACHINE,
        "ndisc6": Said(2, "", ""),
        "ndisc6 -q -n -m -r 2 -w 500 -s fd00:9::1 fd00:9::2": good("02:00:00:00:00:02\n"),
        "ping": Said(1, "", ""),
        "ping -n -q -i 0.2 -c 3 -W 1 10.7.0.2": good(),
    }
    cable = Cable(owned_by("02:00:00:00:00:02", used=["10.9.0.2"]))
    wanted = {
        "10.9.0.1": "failed",
        "10.9.0.2": "failed",
        "10.9.0.3": "succeeded",
        "fd00:9::2": "failed",
        "fd00:9::3": "succeeded",
        "10.7.0.2": "failed",
        "10.7.0.3": "succeeded",
        "here": "unverified",
    }
    found, error = verdicts(Recorded(answers), cable, *wanted)
    assert found == wanted
    assert error.splitlines() == [
        "10.9.0.1: it is an address of eth0 of this host",
        "10.9.0.2: 02:00:00:00:00:02 has it, as eth0 sees",
        "fd00:9::2: 02:00:00:00:00:02 has it, as eth0 sees",
        "10.7.0.2: it answers ping",
        "here: it is no address that a host can have",
    ]


def test_one_that_cannot_be_verified_does_not_hide_the_others() -> None:
    machine = Recorded({**MACHINE, "ping": Said(1, "", "")})
    found, error = verdicts(machine, Cut(), "10.9.0.2", "fd00:9::2", "10.7.0.2")
    assert found == {"10.9.0.2": "unverified", "fd00:9::2": "unverified", "10.7.0.2": "succeeded"}
    assert "Operation not permitted" in error
    assert "the program ndisc6 is not there" in error
