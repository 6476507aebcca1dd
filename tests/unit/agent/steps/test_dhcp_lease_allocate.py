# SPDX-License-Identifier: Apache-2.0
"""DHCP: packets, leases, and the cards that come and go with them."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Address

import pytest

from muster.agent.steps.dhcp import (
    ACK,
    NAK,
    OFFER,
    Answer,
    Client,
    parse_answer,
    parse_leased,
    parse_options,
    render_discover,
    render_lease,
)
from muster.agent.steps.dhcp_lease_allocate import Means, run
from muster.agent.steps.outcome import BadArguments, Outcome
from muster.run import Said
from tests.unit.agent.steps.recorded import Cable, Recorded, finish, good

CLIENT = Client("02:00:00:00:01:01", "api", 0x01020304)
REQUEST = {
    "interface": "eth0",
    "api_vip_mac": "02:00:00:00:01:01",
    "ingress_vip_mac": "02:00:00:00:01:02",
}
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
IP = {"ip link": good()}


class Server:
    """Answers frames of clients like a DHCP server; each MAC has its address."""

    def __init__(self, *, ack: int = ACK, serves: bool = True) -> None:
        self.wishes: list[str | None] = []
        self._ack, self._serves = ack, serves

    def __call__(self, frame: bytes) -> Sequence[bytes]:
        body = frame[14 + 20 + 8 :]
        options = parse_options(body[240:])
        kind = options[53][0]
        if kind == 1:
            self.wishes.append(str(IPv4Address(options[50])) if 50 in options else None)
        address = bytes((10, 9, 0, body[33]))  # The last byte of the MAC.
        answer = OFFER if kind == 1 else self._ack
        return [b"noise", reply(body[4:8], body[28:34], address, answer)] if self._serves else []


def reply(xid: bytes, mac: bytes, address: bytes, kind: int) -> bytes:
    options = bytes((53, 1, kind, 54, 4, 10, 9, 0, 2, 51, 4, 0, 0, 14, 16, 1, 4, 255, 255, 255, 0, 255))
    head = bytes((2, 1, 6, 0)) + xid + bytes(8) + address + bytes(8) + mac + bytes(10 + 192)
    udp = struct.pack("!HHHH", 67, 68, 0, 0)
    ip = bytes((0x45, 0)) + bytes(7) + bytes((17,)) + bytes(10)
    return bytes(12) + b"\x08\x00" + ip + udp + head + bytes((99, 130, 83, 99)) + options


def allocate(machine: Recorded, server: Server, **more: str) -> Outcome:
    means = Means(wire=Cable(server), now=lambda: NOW, choose=lambda: 7, answer_s=0.001)
    return finish(run(machine, [json.dumps({**REQUEST, **more})], means=means))


def test_a_frame_that_servers_take() -> None:
    frame = render_discover(CLIENT, IPv4Address("10.9.0.9"))
    assert frame[:14] == b"\xff" * 6 + bytes.fromhex("020000000101 0800")
    words = struct.unpack("!10H", frame[14:34])
    total = sum(words)
    assert (total & 0xFFFF) + (total >> 16) == 0xFFFF, "the checksum of IP"
    assert len(frame) - 14 == words[1], "the length of IP"
    assert struct.unpack("!HHH", frame[34:40]) == (68, 67, len(frame) - 34)
    assert len(frame) - 42 >= 300, "shorter ones are dropped by some"
    options = parse_options(frame[42 + 240 :])
    assert (options[53], options[50], options[12]) == (b"\x01", bytes((10, 9, 0, 9)), b"api")


def test_both_addresses() -> None:
    machine, server = Recorded(IP), Server()
    done = allocate(machine, server, api_vip_lease="lease {\n  fixed-address 10.9.0.77;\n}\n")
    assert done.exit_code == 0, done.error
    found = json.loads(done.output)
    assert (found["api_vip_address"], found["ingress_vip_address"]) == ("10.9.0.1", "10.9.0.2")
    assert server.wishes == ["10.9.0.77", None]
    assert found["api_vip_lease"].startswith('lease {\n  interface "api";\n  fixed-address 10.9.0.1;\n')
    for card in ("muster-api", "muster-ingress"):
        own = [line for line in machine.asked if card in line]
        assert own[-1] == f"ip link delete {card}"
        assert f"ip link add {card} link eth0 address" in own[1]


@pytest.mark.parametrize("server", [Server(serves=False), Server(ack=NAK)], ids=["silent", "refuses"])
def test_without_an_address_the_cards_are_removed_all_the_same(server: Server) -> None:
    machine = Recorded(IP)
    done = allocate(machine, server)
    assert (done.exit_code, done.output) == (1, "")
    assert done.error.splitlines() == [
        "api: no DHCP server gave an address to 02:00:00:00:01:01",
        "ingress: no DHCP server gave an address to 02:00:00:00:01:02",
    ]
    assert sorted(machine.asked[-2:]) == ["ip link delete muster-api", "ip link delete muster-ingress"]


def test_an_interface_that_is_not_there() -> None:
    machine = Recorded({**IP, "ip link add": Said(1, "", "Cannot find device eth0")})
    done = allocate(machine, Server())
    assert done.exit_code == 1
    assert done.error.splitlines()[0] == "api: cannot make a card on eth0: Cannot find device eth0"


@pytest.mark.parametrize("mac", ["", "02:00", "x"])
def test_bad_macs(mac: str) -> None:
    with pytest.raises(BadArguments, match="api_vip_mac"):
        allocate(Recorded(IP), Server(), api_vip_mac=mac)


def test_answers_of_others_and_cut_ones_say_nothing() -> None:
    whole = reply(bytes((1, 2, 3, 4)), bytes(6), bytes((10, 9, 0, 1)), OFFER)
    found = parse_answer(whole)
    assert found is not None
    assert (found.kind, found.xid, str(found.address)) == (OFFER, 0x01020304, "10.9.0.1")
    assert parse_answer(render_discover(CLIENT, None)) is None
    for size in range(len(whole) - 22):
        assert parse_answer(whole[:size]) is None
    for size in range(len(whole) - 22, len(whole)):
        parse_answer(whole[:size])


def test_options() -> None:
    assert parse_options(bytes((0, 0, 1, 2, 5, 6, 1, 1, 7, 255, 9, 9))) == {1: bytes((5, 6, 7))}
    assert parse_options(bytes((1, 9, 5))) == parse_options(b"\x01") == parse_options(b"") == {}


def test_a_lease_as_dhclient_keeps_it() -> None:
    options = {
        1: bytes((255, 255, 255, 0)),
        3: bytes((10, 9, 0, 1, 10, 9, 0, 2, 7)),
        51: bytes((0, 0, 14, 16)),
    }
    answer = Answer(ACK, 1, CLIENT.mac, IPv4Address("10.9.0.5"), options)
    lease = render_lease("api", answer, NOW)
    assert lease == (
        "lease {\n"
        '  interface "api";\n'
        "  fixed-address 10.9.0.5;\n"
        "  option subnet-mask 255.255.255.0;\n"
        "  option routers 10.9.0.1, 10.9.0.2;\n"
        "  option dhcp-lease-time 3600;\n"
        "  renew 0 2026/03/01 12:30:00;\n"
        "  rebind 0 2026/03/01 12:52:30;\n"
        "  expire 0 2026/03/01 13:00:00;\n"
        "}\n"
    )
    assert parse_leased(lease) == IPv4Address("10.9.0.5")


@pytest.mark.parametrize("text", [None, "", "lease {}", "fixed-address 10.9.0.999;"])
def test_no_lease(text: str | None) -> None:
    assert parse_leased(text) is None
