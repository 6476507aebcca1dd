# SPDX-License-Identifier: Apache-2.0
"""Who hears whom: what a host finds when it asks its peers by ARP and by ping.

With hundreds of hosts this is by far the most that they do, so nothing here is parsed twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_interface
from random import Random
from typing import Final

import msgspec

from muster.lab.sim.machines import Machine
from muster.lab.sim.world import Port, World
from muster.model.wire.inventory import Interface
from muster.model.wire.reports import ConnectivityRemoteHost, L2Connectivity, L3Connectivity, MtuReport
from muster.model.wire.steps import ConnectivityCheckHost

_USED: Final = ("physical", "bond", "vlan")
_PLAIN_MTU: Final = 1500
_PINGS: Final = 10


class Card(msgspec.Struct, frozen=True, gc=False):
    """A card of the host that asks, with one of its addresses."""

    name: str
    key: str
    segment: str
    mtu: int
    address: str
    version: int
    network: int
    shift: int
    """How many bits of an address tell hosts apart."""


def cards_of(machine: Machine, world: World) -> tuple[Card, ...]:
    """The cards that a host asks its peers with: those with a link and an address."""
    return tuple(
        card
        for each in machine.inventory.interfaces or ()
        if each.type in _USED and each.has_carrier is not False
        for card in _cards(machine, each, world)
    )


def _cards(machine: Machine, card: Interface, world: World) -> Iterator[Card]:
    for cidr in (*(card.ipv4_addresses or ()), *(card.ipv6_addresses or ())):
        interface = ip_interface(cidr)
        shift = interface.max_prefixlen - interface.network.prefixlen
        yield Card(
            name=card.name or "",
            key=f"{machine.name}/{card.name}",
            segment=world.segment_of(card.mac_address or ""),
            mtu=card.mtu or _PLAIN_MTU,
            address=str(interface.ip),
            version=interface.version,
            network=int(interface.ip) >> shift,
            shift=shift,
        )


@lru_cache(maxsize=1 << 16)
def _number(address: str) -> tuple[int, int]:
    """The version of an address, and the address as a number."""
    parsed = ip_address(address)
    return parsed.version, int(parsed)


class Asking:
    """One host's look at its peers, at one moment."""

    def __init__(self, cards: Sequence[Card], world: World, now: float, random: Random) -> None:
        self._name = cards[0].key.partition("/")[0] if cards else ""
        self._world = world
        self._broken = world.broken(now)
        self._random = random.random
        self._cards = cards
        if self._broken.has_weather:
            self._cards = [card for card in self._cards if card.key not in self._broken.down]
        self._has_jumbo = any(card.mtu != _PLAIN_MTU for card in self._cards)

    def ask(self, peers: Iterable[ConnectivityCheckHost]) -> tuple[ConnectivityRemoteHost, ...]:
        """What is heard from each."""
        found = [self._ask(peer) for peer in peers]
        found.sort(key=lambda each: each.host_id or "")
        return tuple(found)

    def is_answered(self, address: str) -> bool:
        """Whether anybody answers to an address."""
        try:
            version, _ = _number(address)
        except ValueError:
            return False
        return self._way(version, self._world.ports_of(address, self._broken)) is not None

    def _ask(self, peer: ConnectivityCheckHost) -> ConnectivityRemoteHost:
        l2: list[L2Connectivity] = []
        l3: list[L3Connectivity] = []
        mtu: list[MtuReport] = []
        macs = [nic.mac for nic in peer.nics or ()]
        for nic in peer.nics or ():
            for cidr in nic.ip_addresses or ():
                address = cidr.partition("/")[0]
                ports = self._world.ports_of(address, self._broken)
                version, number = _number(address)
                for card in self._cards:
                    if card.version == version and number >> card.shift == card.network:
                        self._arp(l2, card, address, ports, macs)
                l3.append(self._ping(address, version, ports))
                if self._has_jumbo:
                    mtu.extend(self._jumbo(address, version, ports))
        return ConnectivityRemoteHost(
            host_id=peer.host_id,
            l2_connectivity=tuple(l2),
            l3_connectivity=tuple(l3),
            mtu_report=tuple(mtu) or None,
        )

    def _arp(
        self,
        found: list[L2Connectivity],
        card: Card,
        address: str,
        ports: Sequence[Port],
        macs: Sequence[str | None],
    ) -> None:
        """Everyone who says that the address is theirs; nobody is no entry."""
        for port in ports:
            if port.segment == card.segment and self._hears(card, port):
                found.append(
                    L2Connectivity(
                        outgoing_nic=card.name,
                        outgoing_ip_address=card.address,
                        remote_ip_address=address,
                        remote_mac=port.mac,
                        successful=port.mac in macs or None,
                    )
                )

    def _hears(self, card: Card, port: Port) -> bool:
        broken = self._broken
        if not broken.has_weather:
            return True
        if port.key in broken.down or port.host in broken.off:
            return False
        if broken.loss.get(card.key, 0) >= 100 or broken.loss.get(port.key, 0) >= 100:
            return False
        return not port.host or broken.side.get(self._name, 0) == broken.side.get(port.host, 0)

    def _ping(self, address: str, version: int, ports: Sequence[Port]) -> L3Connectivity:
        """Whether an address answers, by whatever way there is."""
        way = self._way(version, ports)
        if way is None:
            return L3Connectivity(remote_ip_address=address)
        card, port = way
        rtt = self._world.segments[port.segment].rtt_ms * (0.75 + 0.5 * self._random())
        loss = 0.0
        if self._broken.has_weather:
            loss = self._lost(card, port)
            rtt += self._broken.delay.get(card.key, 0) + self._broken.delay.get(port.key, 0)
        return L3Connectivity(
            remote_ip_address=address,
            successful=loss < 100 or None,
            average_rtt_ms=int(rtt * 1000) / 1000 if loss < 100 else None,
            packet_loss_percentage=loss or None,
        )

    def _lost(self, card: Card, port: Port) -> float:
        """Per cent of ten packets that did not come back."""
        rate = max(self._broken.loss.get(card.key, 0), self._broken.loss.get(port.key, 0))
        if not rate:
            return 0.0
        lost = sum(self._random() * 100 < rate for _ in range(_PINGS))
        return 100.0 * lost / _PINGS

    def _way(self, version: int, ports: Sequence[Port]) -> tuple[Card, Port] | None:
        """A card and the port that it reaches: in its own segment if possible, else by a router."""
        routed = None
        for card in self._cards:
            if card.version != version:
                continue
            for port in ports:
                if self._hears(card, port):
                    if port.segment == card.segment:
                        return card, port
                    routed = routed or (card, port)
        return routed if self._world.around.is_routed else None

    def _jumbo(self, address: str, version: int, ports: Sequence[Port]) -> Iterator[MtuReport]:
        """Whether packets as large as each card's get through undivided; not asked where none get through."""
        for card in self._cards:
            if card.version != version or card.mtu == _PLAIN_MTU:
                continue
            port = next((port for port in ports if self._hears(card, port)), None)
            if port is None:
                continue
            fits = card.mtu <= min(
                self._world.segments[card.segment].mtu, self._world.segments[port.segment].mtu
            )
            yield MtuReport(remote_ip_address=address, outgoing_nic=card.name, mtu_successful=fits or None)
