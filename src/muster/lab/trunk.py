# SPDX-License-Identifier: Apache-2.0
"""The lab's own links on the VLANs of a bridge: by the kernel where it can, else by a relay of ours.

Machines tag their frames themselves and the bridge passes them on as they are; only the lab's own leg needs
help. Either way a VLAN is a link ``BRIDGE.VLAN`` of the namespace, which takes addresses like any other.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.lab.services.service import Place, Service, start_service
from muster.run import Run, run

READY: Final = "relaying"
_LONGEST: Final = 15
"""The kernel's limit for the name of a link."""
_ETHERTYPE_VLAN: Final = b"\x81\x00"
_UNKNOWN: Final = ("Unknown device type", "Operation not supported", "Not supported")


@dataclass(frozen=True)
class Trunk:
    """The VLANs that the lab takes part in on one bridge."""

    bridge: str
    vlans: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in (self.port, *map(self.link, self.vlans)):
            if len(name) > _LONGEST:
                raise ValueError(f"{name} is too long for the name of a link")

    def link(self, vlan: int) -> str:
        """The lab's own link in a VLAN."""
        return f"{self.bridge}.{vlan}"

    @property
    def port(self) -> str:
        """Where the relay is plugged into the bridge."""
        return f"{self.bridge}-trunk"


def make_trunk(trunk: Trunk, place: Place, *, run: Run = run) -> int | None:
    """Make the links, up and without addresses; the process id of the relay, or None where none is needed."""
    try:
        _apply(place, render_kernel_links(trunk), run)
    except ExternalError as error:
        if not any(words in error.message for words in _UNKNOWN):
            raise
    else:
        return None
    _apply(place, render_relay_links(trunk), run)
    return start_service(describe_relay(trunk), place)


def _apply(place: Place, lines: Iterator[str], run: Run) -> None:
    argv = ["ip", "-n", place.namespace] if place.namespace else ["ip"]
    run([*argv, "-batch", "-"], feed="".join(f"{line}\n" for line in lines))


def render_kernel_links(trunk: Trunk) -> Iterator[str]:
    """Lines for ``ip -batch`` where the kernel has 8021q."""
    for vlan in trunk.vlans:
        yield f"link add link {trunk.bridge} name {trunk.link(vlan)} type vlan id {vlan}"
        yield f"link set {trunk.link(vlan)} up"


def render_relay_links(trunk: Trunk) -> Iterator[str]:
    """Lines for ``ip -batch`` that make what the relay connects."""
    for name in (trunk.port, *map(trunk.link, trunk.vlans)):
        yield f"tuntap add dev {name} mode tap"
        yield f"link set {name} up"
    yield f"link set {trunk.port} master {trunk.bridge}"


def describe_relay(trunk: Trunk) -> Service:
    """The relay, a process of its own that ends with the lab."""
    links = [f"{vlan}={trunk.link(vlan)}" for vlan in trunk.vlans]
    return Service(
        name=f"trunk-{trunk.bridge}",
        argv=(sys.executable, "-m", "muster.lab.relay", trunk.port, *links),
        ready=READY,
    )


def add_tag(frame: bytes, vlan: int) -> bytes:
    """An Ethernet frame as it is on a trunk."""
    return frame[:12] + _ETHERTYPE_VLAN + vlan.to_bytes(2, "big") + frame[12:]


def take_tag(frame: bytes) -> tuple[int, bytes] | None:
    """The VLAN of a frame on a trunk, and the frame as it is within; None for one without a tag."""
    if frame[12:14] != _ETHERTYPE_VLAN or len(frame) < 18:
        return None
    return int.from_bytes(frame[14:16], "big") & 0xFFF, frame[:12] + frame[16:]
