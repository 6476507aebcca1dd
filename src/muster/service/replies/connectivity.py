# SPDX-License-Identifier: Apache-2.0
"""Connectivity: who reaches whom, and between whom something is wrong.

A report is about those peers that it names; what is known of others stays. Round-trip times go up and down,
so only slow ones are kept, and those in steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from itertools import islice
from math import ceil
from typing import Final

import msgspec

from muster.model.wire.reports import (
    ConnectivityRemoteHost,
    ConnectivityReport,
    L2Connectivity,
    L3Connectivity,
    MtuReport,
)
from muster.service.derive.addresses import IPV4, IPV6, SubnetIndex
from muster.service.derive.bits import read_bits, write_bits
from muster.service.derive.directory import Directory, Entry, directory_of, make_entry
from muster.service.realm import Draft
from muster.service.replies.reading import read_output
from muster.service.replies.reports import note_report
from muster.service.state import Host, Peer

SLOW_MS: Final = 100
_QUICK: Final = re.compile(r'"average_rtt_ms":\s*\d\d?(?:\.\d*)?(?=\s*[,}])')
"""Times that are no news, whatever they are."""
_KEY: Final = "connectivity"
_RTT_STEP_MS: Final = 50
_MAX_SENTENCES: Final = 8
_MAX_MACS: Final = 8
_LONGEST_NAME: Final = 64
"""Characters of a MAC or of the name of an interface."""
_MAX_RTT_MS: Final = 60_000.0
_MAX_PEERS: Final = 32
"""With so many peers something is told in words; of the rest it is known that they were not reached."""
MAX_ADDRESSES: Final = 8192
"""Addresses of peers that one report is taken for: as many as the service asks about at a time."""


class Said(msgspec.Struct, frozen=True):
    """A report that was taken, and what it was taken with: the same again says nothing new."""

    digest: int
    directory: int
    asked: str
    reached: Mapping[str, str]
    peers: Mapping[str, Peer]

    def is_said(self, other: Said) -> bool:
        """Whether the other says the same, of the same."""
        return (
            self.digest == other.digest
            and self.directory == other.directory
            and self.asked == other.asked
            and self.reached is other.reached
            and self.peers is other.peers
        )


def take_connectivity(draft: Draft, host: Host, output: str) -> None:
    """Whom a host reaches, as far as it was asked."""
    memory: dict[str, Said] = draft.realm.cache.setdefault(_KEY, {})
    digest, version = hash(_QUICK.sub("", output)), directory_of(draft.realm).version
    before = memory.get(host.id)
    if before is not None and before.is_said(Said(digest, version, host.asked, host.reached, host.peers)):
        return
    _take(draft, host, output)
    after = draft.hosts[host.id]
    memory[host.id] = Said(digest, version, after.asked, after.reached, after.peers)


def _take(draft: Draft, host: Host, output: str) -> None:
    report = read_output("connectivity-check", output, ConnectivityReport)
    directory = directory_of(draft.realm)
    own = directory.entries.get(host.id) or make_entry(host)
    reading = Reading(own)
    for remote in report.remote_hosts or ():
        entry = directory.entries.get(remote.host_id or "")
        if entry is not None and entry.id != host.id:
            reading.take(remote, entry)
    values = reading.merge(host, directory)
    if any(getattr(host, name) != value for name, value in values.items()):
        draft.change(host, **values)
        if reading.asked:
            _keep(draft, host, reading.asked, output)


def _keep(draft: Draft, host: Host, asked: int, output: str) -> None:
    """The report word for word, for whoever wants to look at it."""
    reports, name, gone = note_report(host.reports, asked)
    draft.change(host, reports=reports)
    draft.documents.update({(host.id, each): None for each in gone})
    draft.documents[host.id, name] = output.encode()


class Reading:
    """What one report says."""

    def __init__(self, own: Entry | None) -> None:
        self._nics: Mapping[str, str] = own.nics if own is not None else {}
        """The host's own interface in each of its subnets."""
        self._subnets = own.subnets if own is not None else SubnetIndex(())
        self._left = MAX_ADDRESSES
        self.asked = 0
        self.reached: dict[str, int] = {}
        self.wrong: dict[str, Peer] = {}
        self._well: dict[tuple[str, ...], int] = {}
        """By all that a peer has: those who answered on all of it."""

    def take(self, remote: ConnectivityRemoteHost, entry: Entry) -> None:
        """What it says of one peer. Of a peer that it names several times, the first counts."""
        bit = 1 << entry.number
        if self.asked & bit or self._left < len(entry.addresses):
            return
        self._left -= len(entry.addresses)
        self.asked |= bit
        if entry.nics.keys() <= self._nics.keys() and _is_well(remote, entry):
            self._well[entry.names] = self._well.get(entry.names, 0) | bit
            return
        silent = self._take_l2(remote.l2_connectivity or (), entry, bit)
        rtt, loss, unanswered = self._take_l3(remote.l3_connectivity or (), entry, bit)
        small = _small_packets(remote.mtu_report or (), entry)
        if silent or unanswered or small or loss or rtt > SLOW_MS:
            doubled = _doubled(remote.l2_connectivity or (), entry)
            self.wrong[entry.id] = Peer(
                silent=tuple((silent + unanswered)[:_MAX_SENTENCES]),
                small_packets=small,
                doubled=doubled,
                rtt_ms=ceil(rtt / _RTT_STEP_MS) * _RTT_STEP_MS if rtt > SLOW_MS else 0,
                loss_percent=ceil(loss),
            )

    def _take_l2(self, answers: Iterable[L2Connectivity], entry: Entry, bit: int) -> list[str]:
        """Who answered on the wire; returns what did not."""
        addresses = entry.addresses
        answered: set[str] = set()
        wrong: list[str] = []
        for each in answers:
            address = each.remote_ip_address
            if address is None or address not in addresses:
                continue
            if each.successful:
                answered.add(address)
            elif each.remote_mac and len(wrong) < _MAX_SENTENCES:  # Silence is told below, in other words.
                nic, mac = _short(each.outgoing_nic), _short(each.remote_mac)
                wrong.append(f"{address} answered {nic} as {mac}, which it is not")
        self._note_reached(answered, entry, bit)
        if len(answered) < len(addresses):
            wrong += self._unanswered(entry, answered)
        return wrong

    def _note_reached(self, answered: Iterable[str], entry: Entry, bit: int) -> None:
        """A peer is reached in the host's own subnets that these addresses of it are in."""
        for address in answered:
            if subnet := self._own(address, entry):
                self.reached[subnet] = self.reached.get(subnet, 0) | bit

    def _unanswered(self, entry: Entry, answered: set[str]) -> list[str]:
        found: list[str] = []
        for address in entry.addresses:
            if len(found) == _MAX_SENTENCES:
                break
            if address not in answered and ":" not in address and (own := self._own(address, entry)):
                found.append(f"{address} did not answer ARP from {self._nics[own]}")
        return found

    def _own(self, address: str, entry: Entry) -> str:
        """The host's own subnet that an address of a peer is in; empty when it is in none."""
        theirs = entry.addresses[address]
        return theirs if theirs in self._nics else self._subnets.find(*entry.numbers[address])

    def _take_l3(
        self, answers: Iterable[L3Connectivity], entry: Entry, bit: int
    ) -> tuple[float, float, list[str]]:
        """Who answered from afar: the slowest answer, the largest loss, and what did not answer."""
        addresses = entry.addresses
        slowest = loss = 0.0
        answered: set[str] = set()
        silent: list[str] = []
        for each in answers:
            address = each.remote_ip_address
            if address is None or address not in addresses:
                continue
            if not each.successful:
                if len(silent) < _MAX_SENTENCES:
                    silent.append(f"{address} did not answer ping")
                continue
            answered.add(address)
            slowest = max(slowest, min(each.average_rtt_ms or 0.0, _MAX_RTT_MS))
            loss = max(loss, min(each.packet_loss_percentage or 0.0, 100.0))
        self._count_families(entry, answered, bit)
        return slowest, loss, silent

    def _count_families(self, entry: Entry, answered: set[str], bit: int) -> None:
        """A family is reached when all addresses of it answered; IPv6 neighbours may answer ping alone."""
        reached = self.reached
        six = {address for address in answered if ":" in address} if IPV6 in entry.families else set()
        self._note_reached(six, entry, bit)
        if six and len(six) == entry.families[IPV6]:
            reached[IPV6] = reached.get(IPV6, 0) | bit
        if len(answered) > len(six) and len(answered) - len(six) == entry.families.get(IPV4, 0):
            reached[IPV4] = reached.get(IPV4, 0) | bit

    def merge(self, host: Host, directory: Directory) -> dict[str, object]:
        """What is known of all peers, after this."""
        for names, bits in self._well.items():
            for name in names:
                self.reached[name] = self.reached.get(name, 0) | bits
        reached = {}
        for name in sorted(host.reached.keys() | self.reached.keys() - {""}):
            bits = read_bits(host.reached.get(name, "")) & ~self.asked | self.reached.get(name, 0)
            if bits:
                reached[name] = write_bits(bits)
        return {
            "asked": write_bits(read_bits(host.asked) | self.asked),
            "reached": reached,
            "peers": self._merge_peers(host, directory),
        }

    def _merge_peers(self, host: Host, directory: Directory) -> dict[str, Peer]:
        entries = directory.entries
        peers = {
            id: peer
            for id, peer in host.peers.items()
            if id in entries and not self.asked >> entries[id].number & 1
        }
        peers |= self.wrong
        order = sorted(peers, key=lambda id: (not peers[id].doubled, entries[id].number))
        return {id: peers[id] for id in order[:_MAX_PEERS]}


def _is_well(remote: ConnectivityRemoteHost, entry: Entry) -> bool:
    """Whether all addresses of a neighbour answered on the wire and to pings, whole and soon."""
    heard, pinged = set(), set()
    for arp in remote.l2_connectivity or ():
        if not arp.successful:
            return False
        heard.add(arp.remote_ip_address)
    for ping in remote.l3_connectivity or ():
        if not ping.successful or ping.packet_loss_percentage or (ping.average_rtt_ms or 0.0) > SLOW_MS:
            return False
        pinged.add(ping.remote_ip_address)
    for packet in remote.mtu_report or ():
        if not packet.mtu_successful:
            return False
    return heard == pinged == entry.addresses.keys()


def _small_packets(answers: Iterable[MtuReport], entry: Entry) -> tuple[str, ...]:
    """The addresses that do not get packets as large as they should."""
    small = (
        f"{each.remote_ip_address} does not get packets as large as the MTU of {_short(each.outgoing_nic)}"
        for each in answers
        if not each.mtu_successful and each.remote_ip_address in entry.addresses
    )
    return tuple(islice(small, _MAX_SENTENCES))


def _doubled(answers: Iterable[L2Connectivity], entry: Entry) -> tuple[str, ...]:
    """The addresses that others than their owner answered for, with all MACs that did."""
    macs: dict[str, set[str]] = {}
    false = set()
    for each in answers:
        address = each.remote_ip_address
        if address in entry.addresses and address is not None and each.remote_mac:
            macs.setdefault(address, set()).add(each.remote_mac[:_LONGEST_NAME].lower())
            if not each.successful:
                false.add(address)
    return tuple(
        f"{address} {' '.join(nsmallest(_MAX_MACS, macs[address]))}"
        for address in nsmallest(_MAX_SENTENCES, false)
    )


def _short(name: str | None) -> str | None:
    return name and name[:_LONGEST_NAME]
