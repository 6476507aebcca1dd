# SPDX-License-Identifier: Apache-2.0
"""A process that connects the lab's links on VLANs with a bridge, where the kernel does not.

    python -m muster.lab.relay PORT VLAN=LINK...

What comes out of PORT with a tag goes into that VLAN's LINK without it, and the other way round. Frames
without a tag, or of other VLANs, are not ours.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from muster.lab.trunk import READY, add_tag, take_tag

_TUN: Final = "/dev/net/tun"
_TUNSETIFF: Final = 0x400454CA
_IFF_TAP: Final = 0x0002
_IFF_NO_PI: Final = 0x1000
_FRAME: Final = 65_536
_AT_ONCE: Final = 64
"""So many frames of one link, then it is the turn of the others."""


def main(arguments: Sequence[str]) -> None:
    """Relay until we are ended."""
    port, *links = arguments
    trunk = open_tap(port)
    vlans = {int(vlan): open_tap(link) for vlan, _, link in (each.partition("=") for each in links)}
    sys.stderr.write(f"{READY} {port} {' '.join(links)}\n")
    sys.stderr.flush()
    with selectors.DefaultSelector() as selector:
        for tap, forward in forwarders(trunk, vlans, send).items():
            selector.register(tap, selectors.EVENT_READ, forward)
        while True:
            for key, _ in selector.select():
                drain(key.fd, key.data)


def forwarders(
    trunk: int, vlans: Mapping[int, int], send: Callable[[int, bytes], None]
) -> dict[int, Callable[[bytes], None]]:
    """What is done with a frame, by the tap that it comes from."""

    def enter(frame: bytes) -> None:
        tagged = take_tag(frame)
        if tagged is not None and tagged[0] in vlans:
            send(vlans[tagged[0]], tagged[1])

    def leave_from(vlan: int) -> Callable[[bytes], None]:
        return lambda frame: send(trunk, add_tag(frame, vlan))

    return {trunk: enter, **{tap: leave_from(vlan) for vlan, tap in vlans.items()}}


def drain(tap: int, forward: Callable[[bytes], None]) -> None:
    """Forward the frames that wait."""
    for _ in range(_AT_ONCE):
        try:
            frame = os.read(tap, _FRAME)
        except BlockingIOError:
            return
        forward(frame)


def send(tap: int, frame: bytes) -> None:
    """Networks may lose frames: one that a link does not take, because it is down or busy, is lost."""
    with contextlib.suppress(OSError):
        os.write(tap, frame)


def open_tap(name: str) -> int:
    """Attach to a tap that is there."""
    tap = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
    return tap


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(sys.argv[1:])
