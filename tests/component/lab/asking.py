# SPDX-License-Identifier: Apache-2.0
"""The smallest clients of DHCP, DNS and NTP; run in a network namespace, it prints what it was told as JSON.

python asking.py dhcp|dhcp6 LINK MAC | dns SERVER NAME | ntp SERVER
"""

from __future__ import annotations

import ipaddress
import json
import socket
import struct
import sys
import time
from collections.abc import Callable

BROADCAST = "255.255.255.255"
COOKIE = bytes([99, 130, 83, 99])


def ask_dhcp(link: str, mac: str) -> dict[str, object]:
    """Discover, request; the options of the acknowledgement."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, link.encode())
        channel.bind(("", 68))
        channel.settimeout(10)
        offer = _exchange(channel, mac, bytes([53, 1, 1]))
        request = bytes([53, 1, 3, 50, 4]) + offer["address"] + bytes([54, 4]) + offer[54]
        answer = _exchange(channel, mac, request)
    return {
        "type": answer[53][0],
        "address": socket.inet_ntoa(answer["address"]),
        "name": answer.get(12, b"").decode(),
        "router": answer.get(3, b"").hex(),
        "dns": socket.inet_ntoa(answer[6]),
        "ntp": socket.inet_ntoa(answer[42]),
        "file": answer["file"].rstrip(b"\0").decode(),
    }


def _exchange(channel: socket.socket, mac: str, options: bytes) -> dict[object, bytes]:
    hardware = bytes.fromhex(mac.replace(":", ""))
    head = struct.pack("!BBBBIHH16x16s64x128x", 1, 1, 6, 0, 0x4D757374, 0, 0x8000, hardware)
    wanted = bytes([55, 6, 1, 3, 6, 12, 15, 42])
    channel.sendto(head + COOKIE + options + wanted + b"\xff", (BROADCAST, 67))
    data = channel.recv(2000)
    found: dict[object, bytes] = {"address": data[16:20], "file": data[108:236]}
    at = 240
    while at < len(data) and data[at] != 255:
        found[data[at]] = data[at + 2 : at + 2 + data[at + 1]]
        at += 2 + data[at + 1]
    return found


def ask_dhcp6(link: str, mac: str) -> dict[str, object]:
    """Solicit; what is advertised."""
    hardware = bytes.fromhex(mac.replace(":", ""))
    client = struct.pack("!HHHH6s", 1, 10, 3, 1, hardware)
    wanted = (
        struct.pack("!HHIII", 3, 12, 1, 0, 0) + struct.pack("!HHH", 8, 2, 0) + struct.pack("!HHH", 6, 2, 23)
    )
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as channel:
        channel.bind(("::", 546))
        channel.settimeout(0.2)
        scope = socket.if_nametoindex(link)
        data = b""
        for _ in range(50):  # The link's own address takes a moment.
            try:
                channel.sendto(b"\x01abc" + client + wanted, ("ff02::1:2", 547, 0, scope))
                data = channel.recv(2000)
                break
            except OSError:
                time.sleep(0.1)
    options = _options6(data[4:])
    address = _options6(options[3][12:])[5][:16]
    return {
        "type": data[0],
        "address": str(ipaddress.ip_address(address)),
        "dns": str(ipaddress.ip_address(options[23])),
    }


def _options6(data: bytes) -> dict[int, bytes]:
    found = {}
    while data:
        number, length = struct.unpack("!HH", data[:4])
        found[number], data = data[4 : 4 + length], data[4 + length :]
    return found


def ask_dns(server: str, name: str) -> dict[str, object]:
    """The IPv4 addresses of a name, and the status of the answer."""
    question = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    query = struct.pack("!6H", 77, 0x0100, 1, 0, 0, 0) + question + b"\0" + struct.pack("!2H", 1, 1)
    data = _ask(server, 53, query)
    _, flags, _, answers, _, _ = struct.unpack("!6H", data[:12])
    at, found = len(query), []
    for _ in range(answers):  # The name of each answer is a pointer of two bytes to that of the question.
        length = struct.unpack("!H", data[at + 10 : at + 12])[0]
        found.append(str(ipaddress.ip_address(data[at + 12 : at + 12 + length])))
        at += 12 + length
    return {"status": flags & 15, "addresses": found}


def ask_ntp(server: str) -> dict[str, object]:
    data = _ask(server, 123, bytes([0x23]) + bytes(47))
    seconds = struct.unpack("!I", data[40:44])[0] - 2_208_988_800
    return {"stratum": data[1], "leap": data[0] >> 6, "off_s": abs(time.time() - seconds)}


def _ask(server: str, port: int, data: bytes) -> bytes:
    with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.settimeout(10)
        channel.sendto(data, (server, port))
        return channel.recv(2000)


ASKS: dict[str, Callable[..., dict[str, object]]] = {
    "dhcp": ask_dhcp,
    "dhcp6": ask_dhcp6,
    "dns": ask_dns,
    "ntp": ask_ntp,
}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(ASKS[sys.argv[1]](*sys.argv[2:])))
