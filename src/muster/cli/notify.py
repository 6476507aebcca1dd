# SPDX-License-Identifier: Apache-2.0
"""Tells systemd how a service of ours is doing (sd_notify); without systemd nobody is told."""

from __future__ import annotations

import contextlib
import os
import socket


def tell_systemd(state: str) -> None:
    """``READY=1`` when the service can be used, ``STOPPING=1`` when it begins to end."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if not place.startswith(("/", "@")):
        return
    address = f"\0{place[1:]}" if place.startswith("@") else place
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(address)
        sender.send(state.encode())
