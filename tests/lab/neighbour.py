# SPDX-License-Identifier: Apache-2.0
"""Plays a switch that says once by LLDP what it is: python neighbour.py LINK, in the networks of a lab."""

from __future__ import annotations

import socket
import struct
import sys

EVERYBODY = bytes.fromhex("0180c200000e")
OWN = bytes.fromhex("020000000001")
KIND = b"\x88\xcc"
NAME = "leaf-3"


def field(kind: int, value: bytes) -> bytes:
    return struct.pack(">H", kind << 9 | len(value)) + value


def main(link: str) -> None:
    fields = (
        field(1, b"\x04" + OWN),
        field(2, b"\x05Ethernet1/7"),
        field(3, struct.pack(">H", 600)),
        field(5, NAME.encode()),
        field(0, b""),
    )
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as card:
        card.bind((link, 0))
        card.send((EVERYBODY + OWN + KIND + b"".join(fields)).ljust(60, b"\0"))


if __name__ == "__main__":
    main(sys.argv[1])
