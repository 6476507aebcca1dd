# SPDX-License-Identifier: Apache-2.0
"""Virtual addresses that are announced with BGP instead of being moved within one network."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from muster.model.platform.on_premises import PORT
from muster.model.schema import Items, Model, many, nested, value
from muster.model.values import IP, IP_ADDRESS, SECRET, TEXT, Secret, choice, number

_ASN: Final = number(1, 4294967295, why="Autonomous systems are numbered with 32 bits, and 0 is reserved.")


class Switch(StrEnum):
    """A truth value that this part of the file holds as text."""

    TRUE = "true"
    FALSE = "false"


class BGPPeer(Model):
    """A router that hosts announce the virtual addresses to."""

    peer_address: IP | None = value(IP_ADDRESS, "Address of the router.", required=True, example="192.0.2.1")
    peer_asn: int | None = value(
        _ASN, "Autonomous system of the router.", key="peerASN", required=True, example="64513"
    )
    password: Secret | None = value(SECRET, "Password of the session (TCP MD5).", default="none")
    port: int | None = value(PORT, "TCP port of the router.", default="179", example="179")
    bfd_enabled: Switch | None = value(
        choice(Switch),
        "Whether a dead link is noticed with BFD, faster than BGP would.",
        default="false",
        example="true",
    )
    ebgp_multi_hop: Switch | None = value(
        choice(Switch),
        "Whether the router may be more than one hop away.",
        default="false",
        example="true",
    )
    hold_time: str | None = value(
        TEXT, "Silence after which the router counts as dead; needs keepaliveTime.", example="90s"
    )
    keepalive_time: str | None = value(TEXT, "Time between signs of life; needs holdTime.", example="30s")


class BGPVIPs(Model):
    """Announces the virtual addresses to routers; needs the feature gate BGPBasedVIPManagement."""

    local_asn: int | None = value(
        _ASN, "Autonomous system of the cluster.", key="localASN", required=True, example="64512"
    )
    peers: Items[BGPPeer] = many(
        nested(BGPPeer), "Routers that hosts announce the virtual addresses to.", required=True
    )
    communities: Items[str] = many(
        TEXT, "Communities to attach to the announced routes.", default="none", example="64512:100"
    )
