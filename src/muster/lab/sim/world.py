# SPDX-License-Identifier: Apache-2.0
"""The modelled site: what is plugged in where, who answers to what, and what is broken at which moment.

`Surroundings` is frozen data. `World` adds the hosts that are in it and the little that changes: how far
their installations are. What is broken depends on the time alone, so a moment can be asked for twice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from muster.lab.sim.broken import Broken, find_broken
from muster.lab.sim.faults import Trouble
from muster.lab.sim.machines import Machine
from muster.lab.sim.place import Place, Port, make_place
from muster.model.wire.enums import HostStage

MAIN: Final = "main"


class Segment(msgspec.Struct, frozen=True):
    """A network that cards are plugged into."""

    name: str = MAIN
    mtu: int = 9000
    rtt_ms: float = 0.3


class NtpServer(msgspec.Struct, frozen=True):
    """A time server: whether it answers, and how far off it is."""

    reachable: bool = True
    offset_s: float = 0.0


class Image(msgspec.Struct, frozen=True):
    """A container image: how large it is and how quickly it comes, or that it does not."""

    size_bytes: int = 800_000_000
    rate_mb_s: float = 60.0
    pullable: bool = True


class DiskSpeed(msgspec.Struct, frozen=True):
    """What a disk can do."""

    write_mb_s: float
    sync_ms: int


SPEEDS: Final[Mapping[str, DiskSpeed]] = MappingProxyType({
    "HDD": DiskSpeed(write_mb_s=140, sync_ms=9),
    "SSD": DiskSpeed(write_mb_s=400, sync_ms=2),
    "NVMe": DiskSpeed(write_mb_s=900, sync_ms=1),
    "Multipath": DiskSpeed(write_mb_s=350, sync_ms=3),
    "FC": DiskSpeed(write_mb_s=350, sync_ms=3),
    "iSCSI": DiskSpeed(write_mb_s=110, sync_ms=6),
    "RAID": DiskSpeed(write_mb_s=300, sync_ms=3),
})  # fmt: skip
"""By the type of a drive; those of NVMe are told by their path."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything around the hosts."""

    start: float = 1_800_000_000.0
    """The moment of the beginning, in seconds since 1970."""
    segments: tuple[Segment, ...] = (Segment(),)
    ports: Mapping[str, str] = MappingProxyType({})
    """The segment of a card, by its MAC address; those that are not named are in the first segment."""
    is_routed: bool = True
    """Whether packets find their way from one segment to another."""
    in_use: Mapping[str, str] = MappingProxyType({})
    """Addresses that others answer to, and the MAC address that does."""
    names: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Names and their addresses; ``*.apps.example.com`` stands for all below."""
    ntp: Mapping[str, NtpServer] | None = None
    """Time servers by name; None for a world in which every server answers."""
    ntp_sets_clocks: bool = False
    """Whether a host with a time server loses the fault of its clock."""
    images: Mapping[str, Image] = MappingProxyType({})
    image: Image = Image()
    """Every image that is not named."""
    speeds: Mapping[str, DiskSpeed] = SPEEDS
    os_image_bytes: int = 4_200_000_000
    registry_bytes: int = 0
    """What a medium with a registry copies to the disk."""
    leases: tuple[str, ...] = ()
    """Addresses that DHCP hands out for VIPs."""
    tang_answers: bool = True
    is_full_iso: bool = True
    """Whether hosts run from a medium, and notice when it is gone."""
    troubles: tuple[Trouble, ...] = ()


class Standing(msgspec.Struct):
    """How far the installation of a host is, as the others in its cluster see it."""

    cluster_id: str
    role: str
    stage: HostStage
    began: float
    """When its installation began."""
    is_lost: bool = False


class World:
    """The surroundings, the hosts in them, and what their installations have reached."""

    def __init__(self, surroundings: Surroundings, machines: Iterable[Machine] = ()) -> None:
        self.around = surroundings
        self._standings: dict[str, dict[str, Standing]] = {}
        self.machines: dict[str, Machine] = {}
        self.segments = {segment.name: segment for segment in surroundings.segments}
        self._default = surroundings.segments[0].name
        self._answering: dict[str, tuple[Port, ...]] = {}
        self._moments = _moments(surroundings.troubles)
        self._spans: dict[int, Broken] = {}
        for address, mac in surroundings.in_use.items():
            self._answer(address, Port(mac, self.segment_of(mac)))
        for machine in machines:
            self.add(machine)

    def add(self, machine: Machine) -> None:
        """Plug a machine in."""
        self.machines[machine.name] = machine
        self._spans.clear()
        for card in machine.inventory.interfaces or ():
            mac = card.mac_address or ""
            for cidr in (*(card.ipv4_addresses or ()), *(card.ipv6_addresses or ())):
                port = Port(mac, self.segment_of(mac), machine.name, f"{machine.name}/{card.name}")
                self._answer(cidr.partition("/")[0], port)

    def _answer(self, address: str, port: Port) -> None:
        self._answering[address] = (*self._answering.get(address, ()), port)

    def segment_of(self, mac: str) -> str:
        """Where a card is plugged in."""
        return self.around.ports.get(mac, self._default)

    def broken(self, now: float) -> Broken:
        """All that is broken at a moment."""
        elapsed = now - self.around.start
        span = bisect_right(self._moments, elapsed)
        found = self._spans.get(span)
        if found is None:
            found = find_broken(self.around.troubles, self.machines, elapsed, self.around.start)
            self._spans[span] = found
        return found

    def ports_of(self, address: str, broken: Broken) -> Sequence[Port]:
        """All that would answer to an address if they were asked: more than one when it is used twice."""
        ports = self._answering.get(address, ())
        if address in broken.doubles:
            mac = broken.doubles[address]
            ports = (*ports, Port(mac, ports[0].segment if ports else self._default))
        return ports

    def find_place(self, cidr: str, broken: Broken) -> Place:
        """Who answers to an address, with or without the length of its prefix, while this is broken."""
        found = broken.places.get(cidr)
        if found is None:
            address = cidr.partition("/")[0]
            found = broken.places[cidr] = make_place(address, self.ports_of(address, broken))
        return found

    def addresses(self, broken: Broken) -> Iterable[str]:
        """Every address that somebody has."""
        return self._answering.keys() | broken.doubles.keys()

    def reaches_service(self, machine: Machine, now: float) -> bool:
        """Whether a host can talk to the service, which stays with the first side of a partition."""
        broken = self.broken(now)
        if not broken.has_weather:
            return True
        if machine.name in broken.off or broken.side.get(machine.name, 0):
            return False
        return any(
            card.has_carrier is not False
            and f"{machine.name}/{card.name}" not in broken.down
            and (card.ipv4_addresses or card.ipv6_addresses)
            for card in machine.inventory.interfaces or ()
        )

    def resolve(self, name: str, broken: Broken) -> tuple[str, ...]:
        """The addresses of a name; none when there is no such name, or nobody to ask."""
        wanted = name.rstrip(".").lower()
        if "*" in broken.names or wanted in broken.names:
            return ()
        names = self.around.names
        if wanted in names:
            return names[wanted]
        _, _, rest = wanted.partition(".")
        while rest:
            if (found := names.get(f"*.{rest}")) is not None:
                return found
            _, _, rest = rest.partition(".")
        return ()

    def ntp_server(self, name: str, broken: Broken) -> NtpServer:
        """A time server by its name."""
        if "*" in broken.ntp or name in broken.ntp:
            return NtpServer(reachable=False)
        if self.around.ntp is None:
            return NtpServer()
        return self.around.ntp.get(name, NtpServer(reachable=False))

    def image(self, name: str, broken: Broken) -> Image:
        """A container image by its name."""
        found = self.around.images.get(name, self.around.image)
        if "*" in broken.images or name in broken.images:
            return msgspec.structs.replace(found, pullable=False)
        return found

    def stand(self, host_id: str, standing: Standing) -> None:
        """Note how far a host of a control plane is; nobody waits for the others."""
        if standing.role != "worker":
            self._standings.setdefault(standing.cluster_id, {})[host_id] = standing

    def forget(self, host_id: str) -> None:
        """Nobody is to wait for a host any more."""
        for standings in self._standings.values():
            standings.pop(host_id, None)

    def control_plane(self, cluster_id: str) -> Sequence[Standing]:
        """How far the hosts of a cluster's control plane are."""
        return tuple(self._standings.get(cluster_id, {}).values())


def _moments(troubles: Iterable[Trouble]) -> list[float]:
    """When something breaks or is mended."""
    return sorted({moment for trouble in troubles for moment in (trouble.since_s, trouble.until_s)})
