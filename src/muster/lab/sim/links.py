# SPDX-License-Identifier: Apache-2.0
"""Who hears whom: what a host finds when it asks its peers by ARP and by ping.

With hundreds of hosts this is by far the most that they do: nothing is parsed twice, and a report is put
together from pieces of JSON that were made once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_interface
from operator import attrgetter
from random import Random
from typing import Final

import msgspec

from muster.lab.sim.machines import Machine
from muster.lab.sim.place import Peer, Place, Port, Seen, make_peer, quote
from muster.lab.sim.world import World
from muster.model.wire.inventory import Interface

_USED: Final = ("physical", "bond", "vlan")
_PLAIN_MTU: Final = 1500
_PINGS: Final = 10
_MAX_PEERS: Final = 1 << 14
_HOST_ID: Final = attrgetter("host_id")


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
    named: str
    """How a report of what it hears begins."""
    fits: str
    """How a report of large packets ends that got through."""
    fits_not: str


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
        name = quote(card.name or "")
        yield Card(
            name=card.name or "",
            key=f"{machine.name}/{card.name}",
            segment=world.segment_of(card.mac_address or ""),
            mtu=card.mtu or _PLAIN_MTU,
            address=str(interface.ip),
            version=interface.version,
            network=int(interface.ip) >> shift,
            shift=shift,
            named=f'{{"outgoing_nic":{name},"outgoing_ip_address":{quote(str(interface.ip))}',
            fits=f',"outgoing_nic":{name},"mtu_successful":true}}',
            fits_not=f',"outgoing_nic":{name}}}',
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
        self._ways = {
            (card.version, segment.name): segment.rtt_ms
            for card in self._cards
            for segment in world.segments.values()
            if world.around.is_routed or segment.name == card.segment
        }

    def ask(self, peers: Iterable[msgspec.Raw]) -> str:
        """What is heard from each, as a connectivity report. A ValueError for a peer that is none."""
        known = self._broken.peers
        found = [known.get(text) or self._learn(text) for text in map(bytes, peers)]
        found.sort(key=_HOST_ID)
        return f'{{"remote_hosts":[{",".join(map(self._ask, found))}]}}'

    def _learn(self, text: bytes) -> Peer:
        if len(self._broken.peers) > _MAX_PEERS:
            self._broken.peers.clear()
        peer = make_peer(text, lambda cidr: self._world.find_place(cidr, self._broken))
        self._broken.peers[text] = peer
        return peer

    def is_answered(self, address: str) -> bool:
        """Whether anybody answers to an address."""
        try:
            return self._way(self._world.find_place(address, self._broken)) is not None
        except ValueError:
            return False

    def _ask(self, peer: Peer) -> str:
        arps: list[str] = []
        pings: list[str] = []
        jumbos: list[str] = []
        for seen in peer.seen:
            place = seen.place
            for card in self._cards:
                if card.version == place.version and place.number >> card.shift == card.network:
                    self._arp(arps, card, seen)
            pings.append(self._ping(place))
            for card in self._jumbo_cards:
                self._send_jumbo(jumbos, card, place)
        more = f',"mtu_report":[{",".join(jumbos)}]' if jumbos else ""
        return f'{peer.named}{",".join(arps)}],"l3_connectivity":[{",".join(pings)}]{more}}}'

    def _arp(self, found: list[str], card: Card, seen: Seen) -> None:
        """Everyone who says that the address is theirs; nobody is no entry."""
        for port, tail in seen.arps:
            if port.segment == card.segment and (self._is_clear or self._hears(card, port)):
                found.append(card.named + tail)

    def _hears(self, card: Card, port: Port) -> bool:
        broken = self._broken
        if port.key in broken.down or port.host in broken.off:
            return False
        if broken.loss.get(card.key, 0) >= 100 or broken.loss.get(port.key, 0) >= 100:
            return False
        return not port.host or broken.side.get(self._name, 0) == broken.side.get(port.host, 0)

    def _ping(self, place: Place) -> str:
        """Whether an address answers, by whatever way there is."""
        if self._is_clear:
            rtt_ms = self._ways.get(place.way)
            if rtt_ms is None:
                return place.named + "}"
            rtt = int(rtt_ms * (750 + 500 * self._random())) / 1000
            return f'{place.named},"successful":true,"average_rtt_ms":{rtt}}}'
        way = self._way(place)
        if way is None:
            return place.named + "}"
        card, port = way
        rtt = self._world.segments[port.segment].rtt_ms * (0.75 + 0.5 * self._random())
        loss = self._lost(card, port)
        if loss >= 100:
            return f'{place.named},"packet_loss_percentage":100}}'
        rtt += self._broken.delay.get(card.key, 0) + self._broken.delay.get(port.key, 0)
        more = f',"packet_loss_percentage":{loss}' if loss else ""
        return f'{place.named},"successful":true,"average_rtt_ms":{int(rtt * 1000) / 1000}{more}}}'

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

    def _send_jumbo(self, found: list[str], card: Card, place: Place) -> None:
        """Whether packets as large as the card's get through undivided; not asked where none get through."""
        if card.version != place.version:
            return
        segments = self._world.segments
        for port in place.ports:
            if self._is_clear or self._hears(card, port):
                fits = card.mtu <= min(segments[card.segment].mtu, segments[port.segment].mtu)
                found.append(place.named + (card.fits if fits else card.fits_not))
                return
