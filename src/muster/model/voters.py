# SPDX-License-Identifier: Apache-2.0
"""The members of a cluster's etcd, as each of their hosts is told of them at its installation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

VOTERS_FILE: Final = "/etc/kubernetes/etcd-members.json"
CLIENT_PORT: Final = 2379
PEER_PORT: Final = 2380


class Voters(msgspec.Struct, frozen=True):
    """All of them from the beginning, and which of them this host is."""

    name: str
    members: Mapping[str, str]
    """Addresses as they stand in a URL, by name."""

    @property
    def own_peer(self) -> str:
        return peer_url(self.members[self.name])

    @property
    def initial(self) -> tuple[tuple[str, str], ...]:
        """Names, and where each talks with the others."""
        return tuple((name, peer_url(address)) for name, address in self.members.items())

    @property
    def other_clients(self) -> tuple[str, ...]:
        """Where the others are asked."""
        return tuple(client_url(each) for name, each in self.members.items() if name != self.name)


def peer_url(address: str) -> str:
    return f"https://{address}:{PEER_PORT}"


def client_url(address: str) -> str:
    return f"https://{address}:{CLIENT_PORT}"


def render_members(members: tuple[tuple[str, str], ...]) -> str:
    """As etcd's --initial-cluster has it."""
    return ",".join(f"{name}={url}" for name, url in members)
