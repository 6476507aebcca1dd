# SPDX-License-Identifier: Apache-2.0
"""The lab's legs on VLANs: the tags are on the wire, the VLANs are apart, and data comes through whole."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.lab.services.service import Place, inside, start_service
from muster.lab.services.web import describe_web
from muster.lab.trunk import Trunk, make_trunk
from muster.run import run
from tests.component.lab.conftest import NewNamespace, batch
from tests.stand_in import Asked, StandIn

MAC = "52:54:00:00:00:01"
ARP = """
import socket, struct, sys, time
link, vlan, target = sys.argv[1], int(sys.argv[3]), sys.argv[4]
mac = bytes.fromhex(sys.argv[2].replace(":", ""))
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
wire.bind((link, 0))
wire.setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA: the kernel takes tags off and tells them beside
ask = struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, mac, bytes(4), bytes(6), socket.inet_aton(target))
wire.send(b"\\xff" * 6 + mac + struct.pack("!HHH", 0x8100, vlan, 0x0806) + ask)
end = time.monotonic() + 1
while (left := end - time.monotonic()) > 0:
    wire.settimeout(left)
    try:
        frame, extra, _, _ = wire.recvmsg(2000, 200)
    except TimeoutError:
        break
    if frame[:6] == mac and frame[12:14] == b"\\x08\\x06" and frame[21] == 2:
        tag = struct.unpack("IIIHHHH", extra[0][2][:20])[5]
        print(tag & 0xfff)
        break
"""
FETCH = (
    "import hashlib, sys, urllib.request as r;"
    "print(hashlib.sha256(r.urlopen(sys.argv[1], timeout=20).read()).hexdigest())"
)


class WithoutVlans(StandIn):
    """Runs programs on a machine whose kernel has no 8021q, whatever this one has."""

    def answer(self, asked: Asked) -> str:
        if "type vlan" in asked.feed:
            raise ExternalError("ip failed with status 1; it said last:\n    Error: Unknown device type.")
        return run(asked.words, feed=asked.feed, heard=asked.heard, circumstances=asked.circumstances)


@pytest.fixture(params=["kernel", "relay"])
def joined(
    request: pytest.FixtureRequest, new_namespace: NewNamespace, tmp_path: Path
) -> tuple[Place, Place]:
    """The lab and a machine, each with a bridge of VLANs 20 and 30, joined by a cable."""
    lab, machine = new_namespace(), new_namespace()
    places = Place(tmp_path / "lab", lab), Place(tmp_path / "machine", machine)
    for place in places:
        batch(place.namespace, "link add br0 type bridge", "link set br0 up")
    batch(lab, f"link add tap0 type veth peer name eth0 address {MAC} netns {machine}")
    batch(lab, "link set tap0 master br0 up")
    batch(machine, "link set eth0 master br0 up")
    for last, place in enumerate(places, 1):
        pid = make_trunk(
            Trunk("br0", (20, 30)), place, run=WithoutVlans() if request.param == "relay" else run
        )
        if request.param == "kernel" and pid is not None:
            pytest.skip("this kernel has no 8021q")
        batch(place.namespace, *(f"addr add 10.{vlan}.0.{last}/24 dev br0.{vlan}" for vlan in (20, 30)))
    return places


def test_vlans(joined: tuple[Place, Place], tmp_path: Path) -> None:
    lab, machine = joined

    def ask(vlan: int, target: str) -> str:
        return run([*inside(machine.namespace), sys.executable, "-c", ARP, "eth0", MAC, str(vlan), target])

    assert ask(20, "10.20.0.1") == "20", "answered with the tag that it was asked with"
    assert ask(30, "10.30.0.1") == "30"
    assert ask(40, "10.20.0.1") == "", "the lab has no leg there"

    (tmp_path / "large").write_bytes(b"muster" * 1_000_000)
    start_service(describe_web(tmp_path, address="10.30.0.1"), lab)
    said = run([*inside(machine.namespace), sys.executable, "-c", FETCH, "http://10.30.0.1/large"])
    assert said == hashlib.sha256(b"muster" * 1_000_000).hexdigest()
