# SPDX-License-Identifier: Apache-2.0
"""The plan of a lab: machines, networks and services, as plain frozen data that is kept as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from muster.errors import UserError
from muster.frozen import dataclass
from muster.model.fault import Fault, parse_fault
from muster.model.lab import Bus, Firmware, Medium, Service

GIB = 1 << 30


@dataclass(frozen=True)
class Disk:
    """A disk of a machine, with what it says about itself."""

    name: str
    size_bytes: int
    bus: Bus = Bus.VIRTIO
    serial: str = ""
    wwn: str = ""
    vendor: str = ""
    product: str = ""
    rotational: bool | None = None
    slot: str = ""
    """PCI address of its SATA controller; empty for the machine's own."""
    port: int = 0


@dataclass(frozen=True)
class Nic:
    """A network card, and the segment that it is plugged into."""

    name: str
    mac_address: str
    segment: str
    tap: str
    """Its other end in the lab's network namespace."""


@dataclass(frozen=True)
class Machine:
    """A virtual machine."""

    name: str
    role: str
    memory_mib: int
    cpus: int
    firmware: Firmware
    medium: Medium
    nics: tuple[Nic, ...]
    disks: tuple[Disk, ...]
    addresses: tuple[str, ...] = ()
    """Static addresses that it will have, with their prefix lengths."""


@dataclass(frozen=True)
class Segment:
    """A network that cards are plugged into: a bridge in the lab's network namespace."""

    name: str
    bridge: str


@dataclass(frozen=True)
class Leg:
    """The lab's own address in a machine network."""

    segment: str
    address: str
    """With its prefix length."""
    vlan: int = 0
    reason: str = ""


@dataclass(frozen=True)
class LabPlan:
    """What a lab consists of."""

    name: str
    site: str
    """The directory of the site."""
    architecture: str
    domain: str
    machines: tuple[Machine, ...]
    segments: tuple[Segment, ...]
    legs: tuple[Leg, ...]
    services: tuple[Service, ...] = ()
    faults: tuple[Fault, ...] = ()
    api_vips: tuple[str, ...] = ()
    ingress_vips: tuple[str, ...] = ()
    machine_networks: tuple[str, ...] = ()
    rendezvous_ip: str = ""
    boot_url: str = ""
    """Where agent-config.yaml says that the files for a boot from the network are."""
    registry_store: str = ""
    """The content store that the registry serves; empty for a registry that begins empty."""

    def machine(self, name: str) -> Machine:
        """The machine of this name."""
        for machine in self.machines:
            if machine.name == name:
                return machine
        known = ", ".join(machine.name for machine in self.machines)
        raise UserError(f"the lab {self.name} has no machine {name}", hint=f"its machines are: {known}")

    def bridge(self, segment: str) -> str:
        """The bridge of a segment."""
        return next(each.bridge for each in self.segments if each.name == segment)

    @property
    def memory_mib(self) -> int:
        """What all machines have together."""
        return sum(machine.memory_mib for machine in self.machines)


def dump_plan(plan: LabPlan) -> dict[str, Any]:
    """The plan as JSON has it."""
    return {**asdict(plan), "faults": [str(fault) for fault in plan.faults]}


def parse_plan(body: Mapping[str, Any]) -> LabPlan:
    """The plan that JSON has."""
    return LabPlan(
        **{
            **body,
            "machines": tuple(_parse_machine(each) for each in body["machines"]),
            "segments": tuple(Segment(**each) for each in body["segments"]),
            "legs": tuple(Leg(**each) for each in body["legs"]),
            "services": tuple(Service(each) for each in body["services"]),
            "faults": tuple(parse_fault(each) for each in body["faults"]),
            **{key: tuple(body[key]) for key in ("api_vips", "ingress_vips", "machine_networks")},
        }
    )


def _parse_machine(body: Mapping[str, Any]) -> Machine:
    return Machine(
        **{
            **body,
            "firmware": Firmware(body["firmware"]),
            "medium": Medium(body["medium"]),
            "nics": tuple(Nic(**each) for each in body["nics"]),
            "disks": tuple(Disk(**{**each, "bus": Bus(each["bus"])}) for each in body["disks"]),
            "addresses": tuple(body["addresses"]),
        }
    )
