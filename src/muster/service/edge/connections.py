# SPDX-License-Identifier: Apache-2.0
"""Places for connections to the service, by kind of caller: see `muster.serving.connections`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from muster.serving.connections import Room

Caller: TypeAlias = Literal["strangers", "hosts", "media", "people"]
"""A kind of caller: without a token, one host, a medium that hosts share, a session of a person."""
CONNECTION_KEY: Final = "connection"
"""Where the connection of a request is: `scope["state"][CONNECTION_KEY]`."""

ROOMS: Final[Mapping[str, Room]] = {
    "strangers": Room(each=256, all=512),
    "transfers": Room(each=512, all=1024),
    "hosts": Room(each=8, all=8192),
    "media": Room(each=1024, all=2048),
    "people": Room(each=256, all=1024),
}
"""Strangers and transfers are counted by network, others by token: 2,000 hosts may share an address, and each
waits for its next step, reports and uploads at the same time.

A connection of a stranger holds at most about 400 KiB of this process: 96 KiB of heads of requests, 64 KiB
that were read ahead, 64 KiB of a body, 128 KiB of answers, and TLS.
"""
