# SPDX-License-Identifier: Apache-2.0
"""Announcements on the wire: multicast of both families, which no router passes on."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from muster.agent.meeting.announcement import MOST_BYTES
from muster.model.meeting import ANNOUNCEMENT_GROUPS, ANNOUNCEMENT_PORT

PORT: Final = ANNOUNCEMENT_PORT
GROUP4, GROUP6 = ANNOUNCEMENT_GROUPS
_HOPS: Final = 1
_IP_MULTICAST_ALL: Final = 49
"""The library has no name for them: only groups that were joined on a card are heard there."""
_IPV6_MULTICAST_ALL: Final = 29
_LOOPBACK: Final = "lo"


def find_cards() -> tuple[int, ...]:
    """The numbers of the interfaces that lead out of this host."""
    return tuple(number for number, name in socket.if_nameindex() if name != _LOOPBACK)


class Wire:
    """Two sockets, one for each family that this host has."""

    def __init__(self, sockets: Sequence[socket.socket]) -> None:
        self._sockets = tuple(sockets)

    def join(self, cards: Sequence[int]) -> None:
        """Hear on these interfaces, too; where it was heard already it stays so."""
        for each in self._sockets:
            for card in cards:
                with contextlib.suppress(OSError):
                    if each.family is socket.AF_INET:
                        each.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, _request4(card))
                    else:
                        request = socket.inet_pton(socket.AF_INET6, GROUP6) + struct.pack("@I", card)
                        each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, request)

    def say(self, data: bytes, cards: Sequence[int]) -> int:
        """Say something on these interfaces; how often it went out. One without an address hears nothing."""
        sent = 0
        for each in self._sockets:
            for card in cards:
                with contextlib.suppress(OSError):
                    self._say(each, data, card)
                    sent += 1
        return sent

    def _say(self, sender: socket.socket, data: bytes, card: int) -> None:
        if sender.family is socket.AF_INET:
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, _request4(card))
            sender.sendto(data, (GROUP4, PORT))
        else:
            sender.sendto(data, (GROUP6, PORT, 0, card))

    def listen(self, hear: Callable[[bytes], None], add_reader: Callable[..., None]) -> None:
        """Have everything that comes told to somebody."""
        for each in self._sockets:
            add_reader(each, _receive, each, hear)

    def close(self, remove_reader: Callable[[socket.socket], object]) -> None:
        for each in self._sockets:
            remove_reader(each)
            each.close()


def open_wire() -> Wire:
    """What this host can do; a family that it does not have is left out."""
    return Wire(tuple(_open_sockets()))


def _open_sockets() -> Iterator[socket.socket]:
    for family, level, options in (
        (
            socket.AF_INET,
            socket.IPPROTO_IP,
            ((socket.IP_MULTICAST_TTL, _HOPS), (_IP_MULTICAST_ALL, 0)),
        ),
        (
            socket.AF_INET6,
            socket.IPPROTO_IPV6,
            ((socket.IPV6_V6ONLY, 1), (socket.IPV6_MULTICAST_HOPS, _HOPS), (_IPV6_MULTICAST_ALL, 0)),
        ),
    ):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            made = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            for option, value in options:
                made.setsockopt(level, option, value)
            made.bind((GROUP4 if family is socket.AF_INET else "::", PORT))
            stack.pop_all()
            yield made


def _request4(card: int) -> bytes:
    """struct ip_mreqn."""
    return socket.inet_pton(socket.AF_INET, GROUP4) + bytes(4) + struct.pack("@i", card)


def _receive(listening: socket.socket, hear: Callable[[bytes], None]) -> None:
    """One at a time: whoever sends many waits with all others for its turn."""
    with contextlib.suppress(OSError):
        hear(listening.recv(MOST_BYTES + 1))
