# SPDX-License-Identifier: Apache-2.0
"""What is broken between two moments: the faults that last then, turned into what hosts look up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from muster.errors import UserError
from muster.lab.sim.faults import ANY, SimFault, SimFaultKind, Trouble
from muster.lab.sim.machines import Machine
from muster.lab.sim.place import Peer, Place
from muster.model.fault import Fault, FaultKind
from muster.model.wire.enums import HostStage
from muster.model.wire.inventory import Disk

STRANGER: Final = "02:00:00:00:ff:%02x"
"""The MAC address of a machine that nobody planned."""


class Broken(msgspec.Struct):
    """All that is broken for a while."""

    down: set[str] = msgspec.field(default_factory=set)
    """Cards without a link, as HOST/CARD."""
    loss: dict[str, int] = msgspec.field(default_factory=dict)
    """Per cent of packets that are lost, by HOST/CARD."""
    delay: dict[str, int] = msgspec.field(default_factory=dict)
    """Milliseconds, by HOST/CARD."""
    side: dict[str, int] = msgspec.field(default_factory=dict)
    """The hosts on the second side of a partition."""
    off: set[str] = msgspec.field(default_factory=set)
    ejected: set[str] = msgspec.field(default_factory=set)
    skew: dict[str, float] = msgspec.field(default_factory=dict)
    """How far clocks are off, by host."""
    full: dict[str, set[str]] = msgspec.field(default_factory=dict)
    """Disks that refuse writes, by host; their paths."""
    rate: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    """Bytes a second, by host and the path of a disk."""
    sync: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    """Milliseconds of a sync, by host and the path of a disk."""
    lost: dict[str, HostStage] = msgspec.field(default_factory=dict)
    """Hosts that are not heard of again when they reach a stage."""
    doubles: dict[str, str] = msgspec.field(default_factory=dict)
    """Addresses that a stranger answers to as well, and its MAC address."""
    images: set[str] = msgspec.field(default_factory=set)
    names: set[str] = msgspec.field(default_factory=set)
    ntp: set[str] = msgspec.field(default_factory=set)
    places: dict[str, Place] = msgspec.field(default_factory=dict)
    """Who answers to which address meanwhile, as far as anybody has asked."""
    peers: dict[bytes, Peer] = msgspec.field(default_factory=dict)
    """The peers that hosts were told to ask meanwhile, by what they were told of them."""
    has_weather: bool = False
    """Whether packets are lost, delayed or kept from the other side: what a healthy network need not ask."""


def check_troubles(troubles: Iterable[Trouble], machines: Mapping[str, Machine]) -> None:
    """Whether the site has what the faults are to break."""
    for trouble in troubles:
        fault = trouble.fault
        if isinstance(fault, SimFault):
            _break_in_model(Broken(), fault, machines)
        else:
            _break(Broken(), fault, machines, 0.0)


def find_broken(
    troubles: Iterable[Trouble], machines: Mapping[str, Machine], elapsed_s: float, start: float
) -> Broken:
    """What is broken so long after the beginning."""
    broken = Broken()
    for trouble in troubles:
        if trouble.lasts_at(elapsed_s):
            fault = trouble.fault
            if isinstance(fault, SimFault):
                _break_in_model(broken, fault, machines)
            else:
                _break(broken, fault, machines, start + trouble.since_s)
    broken.has_weather = bool(broken.down or broken.loss or broken.delay or broken.side or broken.off)
    return broken


def _break(broken: Broken, fault: Fault, machines: Mapping[str, Machine], since: float) -> None:
    if fault.kind is FaultKind.PARTITION:
        for name in (name for side in fault.sides for name in side):
            _named(machines, name)
        broken.side |= dict.fromkeys(fault.sides[1], 1)
        return
    for machine in _named(machines, fault.machine):
        if fault.kind in (FaultKind.LINK, FaultKind.LOSS, FaultKind.DELAY):
            _break_cards(broken, fault, machine)
        else:
            _break_machine(broken, fault, machine, since)


def _break_cards(broken: Broken, fault: Fault, machine: Machine) -> None:
    cards = _cards(machine, fault.part)
    if fault.kind is FaultKind.LINK:
        broken.down |= cards
        _break_bonds(broken, machine)
    elif fault.kind is FaultKind.LOSS:
        broken.loss |= dict.fromkeys(cards, fault.amount)
    else:
        broken.delay |= dict.fromkeys(cards, fault.amount)


def _break_machine(broken: Broken, fault: Fault, machine: Machine, since: float) -> None:
    if fault.kind is FaultKind.MEDIA:
        broken.ejected.add(machine.name)
    elif fault.kind is FaultKind.POWER:
        broken.off.add(machine.name)
    elif fault.kind is FaultKind.CLOCK:
        broken.skew[machine.name] = fault.amount - since
    elif fault.kind is FaultKind.DISK_FULL:
        broken.full.setdefault(machine.name, set()).update(_disks(machine, fault.part))
    elif fault.kind is FaultKind.SLOW_DISK:
        slow = dict.fromkeys(_disks(machine, fault.part), fault.amount)
        broken.rate.setdefault(machine.name, {}).update(slow)


def _break_in_model(broken: Broken, fault: SimFault, machines: Mapping[str, Machine]) -> None:
    match fault.kind:
        case SimFaultKind.IMAGE:
            broken.images.add(fault.target)
        case SimFaultKind.DNS:
            broken.names.add(fault.target.rstrip(".").lower())
        case SimFaultKind.NTP:
            broken.ntp.add(fault.target)
        case SimFaultKind.VIP_IN_USE:
            broken.doubles[fault.target] = STRANGER % (len(broken.doubles) % 256)
        case _:
            for machine in _named(machines, fault.target):
                _break_in_host(broken, fault, machine)


def _break_in_host(broken: Broken, fault: SimFault, machine: Machine) -> None:
    if fault.kind is SimFaultKind.SKEW:
        broken.skew[machine.name] = fault.amount
    elif fault.kind is SimFaultKind.SLOW_SYNC:
        slow = dict.fromkeys(_disks(machine, fault.part), fault.amount)
        broken.sync.setdefault(machine.name, {}).update(slow)
    elif fault.kind is SimFaultKind.LOST and fault.stage:
        broken.lost[machine.name] = fault.stage
    elif fault.kind is SimFaultKind.DUPLICATE_IP:
        for address in _addresses(machine):
            broken.doubles[address] = STRANGER % (len(broken.doubles) % 256)


def _addresses(machine: Machine) -> list[str]:
    """The first IPv4 and the first IPv6 address of a machine's first card that has one."""
    for card in machine.inventory.interfaces or ():
        found = [*(card.ipv4_addresses or ())[:1], *(card.ipv6_addresses or ())[:1]]
        if found:
            return [each.partition("/")[0] for each in found]
    return []


def _named(machines: Mapping[str, Machine], name: str) -> list[Machine]:
    if name == ANY:
        return list(machines.values())
    if name not in machines:
        known = ", ".join(list(machines)[:10]) + (", …" if len(machines) > 10 else "")
        raise UserError(f"there is no host {name} to break", hint=f"the hosts are: {known}")
    return [machines[name]]


def _cards(machine: Machine, part: str) -> set[str]:
    """A card and what is built on it, or all of the machine's, as HOST/CARD."""
    cards = machine.inventory.interfaces or ()
    names = [card.name or "" for card in cards]
    if part and part not in names:
        raise UserError(f"{machine.name} has no card {part}", hint=f"its cards are: {', '.join(names)}")
    return {f"{machine.name}/{name}" for name in names if part in ("", name, name.partition(".")[0])}


def _break_bonds(broken: Broken, machine: Machine) -> None:
    """A bond lives as long as one of its cards has a link; they are those with a link and no address."""
    cards = machine.inventory.interfaces or ()
    bonds = [card.name or "" for card in cards if card.type == "bond"]
    members = {
        f"{machine.name}/{card.name}"
        for card in cards
        if card.type == "physical"
        and card.has_carrier
        and not card.ipv4_addresses
        and not card.ipv6_addresses
    }
    if bonds and members and members <= broken.down:
        for bond in bonds:
            broken.down |= _cards(machine, bond)


def _disks(machine: Machine, part: str) -> list[str]:
    disks = machine.inventory.disks or ()
    found = [disk.path or "" for disk in disks if part in ("", *_names(disk))]
    if part and not found:
        known = ", ".join(disk.name or "" for disk in disks)
        raise UserError(f"{machine.name} has no disk {part}", hint=f"its disks are: {known}")
    return found


def _names(disk: Disk) -> tuple[str | None, ...]:
    return (disk.name, disk.path, disk.by_id, disk.serial)
