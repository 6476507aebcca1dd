# SPDX-License-Identifier: Apache-2.0
"""Claims a virtual IPv4 address by VRRP with the highest priority, until it is killed.

python -m tests.component.vips.stranger OWN_ADDRESS TTL ROUTER_ID VIRTUAL_ADDRESS TARGET...
"""

from __future__ import annotations

import socket
import struct
import sys
import time

VRRP = 112
PAUSE_S = 0.2


def checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def advert(own: str, target: str, router: int, virtual: str) -> bytes:
    """VRRP version 3, sent once a second."""
    addresses = socket.inet_aton(own) + socket.inet_aton(target)
    body = struct.pack(">BBBBHH", 0x31, router, 255, 1, 100, 0) + socket.inet_aton(virtual)
    pseudo = addresses + struct.pack(">BBH", 0, VRRP, len(body))
    return body[:6] + struct.pack(">H", checksum(pseudo + body)) + body[8:]


def main(own: str, ttl: str, router: str, virtual: str, *targets: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, VRRP) as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, int(ttl))
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, int(ttl))
        sender.bind((own, 0))
        while True:
            for target in targets:
                sender.sendto(advert(own, target, int(router), virtual), (target, 0))
            time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
