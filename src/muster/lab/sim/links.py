# SPDX-License-Identifier: Apache-2.0
"""Who hears whom: what a host finds when it asks its peers by ARP and by ping.

With hundreds of hosts this is by far the most that they do, so nothing here is parsed twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_interface
from random import Random
from typing import Final

import msgspec

from muster.lab.sim.machines import Machine
from muster.lab.sim.place import Place, Port
from muster.lab.sim.world import World
from muster.model.wire.inventory import Interface
from muster.model.wire.reports import ConnectivityRemoteHost, L2Connectivity, L3Connectivity, MtuReport
from muster.model.wire.steps import ConnectivityCheckHost, ConnectivityCheckNic

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


class Asking:
    """One host's look at its peers, at one moment."""

    def __init__(self, cards: Sequence[Card], world: World, now: float, random: Random) -> None:
        self._name = cards[0].key.partition("/")[0] if cards else ""
        self._world = world
        self._broken = world.broken(now)
        self._random = random.random
        self._is_clear = not self._broken.has_weather
        self._cards = cards
        if not self._is_clear:
            self._cards = [card for card in cards if card.key not in self._broken.down]
        self._jumbo_cards = [card for card in self._cards if card.mtu != _PLAIN_MTU]

    def ask(self, peers: Iterable[ConnectivityCheckHost]) -> tuple[ConnectivityRemoteHost, ...]:
        """What is heard from each."""
        found = [self._ask(peer) for peer in peers]
        found.sort(key=lambda each: each.host_id or "")
        return tuple(found)

    def is_answered(self, address: str) -> bool:
        """Whether anybody answers to an address."""
        try:
            return self._way(self._world.find_place(address, self._broken)) is not None
        except ValueError:
            return False

    def _ask(self, peer: ConnectivityCheckHost) -> ConnectivityRemoteHost:
        l2: list[L2Connectivity] = []
        l3: list[L3Connectivity] = []
        mtu: list[MtuReport] = []
        nics = peer.nics or ()
        for nic in nics:
            for cidr in nic.ip_addresses or ():
                place = self._broken.places.get(cidr) or self._world.find_place(cidr, self._broken)
                for card in self._cards:
                    if card.version == place.version and place.number >> card.shift == card.network:
                        self._arp(l2, card, place, nics)
                l3.append(self._ping(place))
                for card in self._jumbo_cards:
                    self._send_jumbo(mtu, card, place)
        return ConnectivityRemoteHost(
            host_id=peer.host_id,
            l2_connectivity=tuple(l2),
            l3_connectivity=tuple(l3),
            mtu_report=tuple(mtu) if mtu else None,
        )

    def _arp(
        self, found: list[L2Connectivity], card: Card, place: Place, nics: Sequence[ConnectivityCheckNic]
    ) -> None:
        """Everyone who says that the address is theirs; nobody is no entry."""
        for port in place.ports:
            if port.segment == card.segment and (self._is_clear or self._hears(card, port)):
                found.append(
                    L2Connectivity(
                        outgoing_nic=card.name,
                        outgoing_ip_address=card.address,
                        remote_ip_address=place.address,
                        remote_mac=port.mac,
                        successful=True if any(nic.mac == port.mac for nic in nics) else None,
                    )
                )

    def _hears(self, card: Card, port: Port) -> bool:
        broken = self._broken
        if port.key in broken.down or port.host in broken.off:
            return False
        if broken.loss.get(card.key, 0) >= 100 or broken.loss.get(port.key, 0) >= 100:
            return False
        return not port.host or broken.side.get(self._name, 0) == broken.side.get(port.host, 0)

    def _ping(self, place: Place) -> L3Connectivity:
        """Whether an address answers, by whatever way there is."""
        way = self._way(place)
        if way is None:
            return L3Connectivity(remote_ip_address=place.address)
        card, port = way
        rtt = self._world.segments[port.segment].rtt_ms * (0.75 + 0.5 * self._random())
        loss = 0.0
        if not self._is_clear:
            loss = self._lost(card, port)
            rtt += self._broken.delay.get(card.key, 0) + self._broken.delay.get(port.key, 0)
        return L3Connectivity(
            remote_ip_address=place.address,
            successful=True if loss < 100 else None,
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

    def _way(self, place: Place) -> tuple[Card, Port] | None:
        """A card and the port that it reaches: in its own segment if possible, else by a router."""
        routed = None
        for card in self._cards:
            if card.version == place.version:
                for port in place.ports:
                    if self._is_clear or self._hears(card, port):
                        if port.segment == card.segment:
                            return card, port
                        routed = routed or (card, port)
        return routed if self._world.around.is_routed else None

    def _send_jumbo(self, found: list[MtuReport], card: Card, place: Place) -> None:
        """Whether packets as large as the card's get through undivided; not asked where none get through."""
        if card.version != place.version:
            return
        segments = self._world.segments
        for port in place.ports:
            if self._is_clear or self._hears(card, port):
                fits = card.mtu <= min(segments[card.segment].mtu, segments[port.segment].mtu)
                found.append(
                    MtuReport(
                        remote_ip_address=place.address,
                        outgoing_nic=card.name,
                        mtu_successful=True if fits else None,
                    )
                )
                return
