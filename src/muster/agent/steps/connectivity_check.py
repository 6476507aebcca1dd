# SPDX-License-Identifier: Apache-2.0
"""Whether peers answer: on the wire, to pings, and to packets as large as the link is said to carry.

What did not answer has a row that says so; what could not be tested has none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

import msgspec

from muster.agent.steps.nics import Address, Nic, NicsUnknown, find_on_link, load_nics, parse_address
from muster.agent.steps.outcome import Outcome, read
from muster.agent.steps.probes import NotTested, find_macs, is_answering, ping
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.reports import (
    ConnectivityRemoteHost,
    ConnectivityReport,
    L2Connectivity,
    L3Connectivity,
    MtuReport,
)
from muster.model.wire.steps import ConnectivityCheckHost

AT_ONCE: Final = 64
"""Most of the time a probe waits; so many at a time do not load a host."""
DEADLINE_S: Final = 75.0
_HEADERS: Final = {4: 28, 6: 48}
"""What IP and ICMP add to the data of a ping."""
_MAX_TROUBLES: Final = 8
Row: TypeAlias = L2Connectivity | L3Connectivity | MtuReport


class Probe(Protocol):
    """One thing to find out about one address of a peer."""

    @property
    def host_id(self) -> str: ...

    async def make(self, machine: Machine) -> Sequence[Row]: ...


@dataclass(frozen=True)
class PingProbe:
    """Whether an address answers, wherever it is."""

    host_id: str
    address: Address

    async def make(self, machine: Machine) -> Sequence[Row]:
        found = await ping(machine, self.address)
        row = L3Connectivity(
            remote_ip_address=str(self.address),
            successful=found.is_answered,
            average_rtt_ms=found.rtt_ms,
            packet_loss_percentage=found.loss_percent,
        )
        return (row,)


@dataclass(frozen=True)
class LinkProbe:
    """Who answers for an address on the link of an interface."""

    host_id: str
    address: Address
    nic: str
    source: Address
    macs: frozenset[str]
    """All that the peer has: one with two cards on a link may answer with either."""

    async def make(self, machine: Machine) -> Sequence[Row]:
        found = await find_macs(machine, self.nic, self.source, self.address)
        return [self._row(mac) for mac in found] or [self._row(None)]

    def _row(self, mac: str | None) -> L2Connectivity:
        return L2Connectivity(
            outgoing_nic=self.nic,
            outgoing_ip_address=str(self.source),
            remote_ip_address=str(self.address),
            remote_mac=mac,
            successful=mac in self.macs,
        )


@dataclass(frozen=True)
class SizeProbe:
    """Whether packets of full size get through. Not across routers: those tell what they carry."""

    host_id: str
    address: Address
    nic: str
    mtu: int

    async def make(self, machine: Machine) -> Sequence[Row]:
        size = str(self.mtu - _HEADERS[self.address.version])
        is_large = await is_answering(machine, self.address, ["-I", self.nic, "-M", "do", "-s", size])
        if not is_large and not await is_answering(machine, self.address, ["-I", self.nic]):
            return ()  # Nothing gets through, so nothing is known of large ones.
        row = MtuReport(outgoing_nic=self.nic, remote_ip_address=str(self.address), mtu_successful=is_large)
        return (row,)


@dataclass(frozen=True)
class Findings:
    """What came of the probes."""

    rows: Mapping[int, Sequence[Row]]
    """By the number of the probe; without those that did not end in time."""
    troubles: tuple[str, ...] = ()


async def run(machine: Machine, args: Sequence[str]) -> Outcome:
    """The step."""
    peers = read(args, tuple[ConnectivityCheckHost, ...])
    try:
        nics = await load_nics(machine)
    except NicsUnknown as error:
        return Outcome(exit_code=1, error=str(error))
    probes = tuple(plan_probes(peers, nics))
    findings = await _make(machine, probes)
    report, late = make_report(peers, probes, findings.rows)
    troubles = list(findings.troubles)
    if late:
        troubles.append(f"{late} of {len(peers)} peers could not be checked within {DEADLINE_S:g} s")
    return Outcome(msgspec.json.encode(report).decode(), error="\n".join(troubles))


def plan_probes(peers: Sequence[ConnectivityCheckHost], nics: Sequence[Nic]) -> Iterator[Probe]:
    """All that is to be found out. An interface asks for an address once, with whichever of its own."""
    for peer in peers:
        if not peer.host_id:
            continue
        macs = frozenset(nic.mac.lower() for nic in peer.nics or () if nic.mac)
        found = {parse_address(text) for nic in peer.nics or () for text in nic.ip_addresses or ()}
        for address in sorted(found - {None}, key=str):
            assert address is not None
            yield PingProbe(peer.host_id, address)
            for nic, source in find_on_link(nics, address):
                yield LinkProbe(peer.host_id, address, nic.name, source, macs)
                if nic.mtu > _HEADERS[address.version]:
                    yield SizeProbe(peer.host_id, address, nic.name, nic.mtu)


async def _make(machine: Machine, probes: Sequence[Probe]) -> Findings:
    gate = asyncio.Semaphore(AT_ONCE)
    rows: dict[int, Sequence[Row]] = {}
    troubles: set[str] = set()

    async def make(number: int, probe: Probe) -> None:
        async with gate:
            try:
                rows[number] = await probe.make(machine)
            except NotTested as error:
                rows[number] = ()
                troubles.add(str(error))

    try:
        async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
            for number, probe in enumerate(probes):
                group.create_task(make(number, probe))
    except TimeoutError:
        pass  # What is missing is told by the rows.
    return Findings(rows, tuple(sorted(troubles)[:_MAX_TROUBLES]))


def make_report(
    peers: Sequence[ConnectivityCheckHost], probes: Sequence[Probe], rows: Mapping[int, Sequence[Row]]
) -> tuple[ConnectivityReport, int]:
    """The report, and of how many peers it says nothing because not all of it was found out in time."""
    found: dict[str, list[Row]] = {peer.host_id: [] for peer in peers if peer.host_id}
    late = set()
    for number, probe in enumerate(probes):
        if number in rows:
            found[probe.host_id] += rows[number]
        else:
            late.add(probe.host_id)
    hosts = (_remote(id, found[id]) for id in sorted(found.keys() - late))
    return ConnectivityReport(remote_hosts=tuple(hosts)), len(late)


def _remote(id: str, rows: Sequence[Row]) -> ConnectivityRemoteHost:
    ordered = sorted(rows, key=_order)
    return ConnectivityRemoteHost(
        host_id=id,
        l2_connectivity=tuple(row for row in ordered if isinstance(row, L2Connectivity)),
        l3_connectivity=tuple(row for row in ordered if isinstance(row, L3Connectivity)),
        mtu_report=tuple(row for row in ordered if isinstance(row, MtuReport)),
    )


def _order(row: Row) -> tuple[str, str, str]:
    mac = row.remote_mac if isinstance(row, L2Connectivity) else None
    return row.remote_ip_address or "", row.outgoing_nic or "", mac or ""
