# SPDX-License-Identifier: Apache-2.0
"""Site → lab: one machine per host, with exactly its cards, disks that its hints match, and its networks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.lab.disks import plan_disks
from muster.lab.legs import further_addresses, plan_legs
from muster.lab.plan import LabPlan, Machine, Nic, Segment
from muster.model.host import RootDeviceHints
from muster.model.lab import Firmware, LabConfig, LabMachine, Medium, Service
from muster.model.plan import HostPlan, Plan
from muster.model.site import Site

DEFAULT_MEMORY_MIB: Final = 2048
DEFAULT_CPUS: Final = 2
DEFAULT_SEGMENT: Final = "main"
_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,38}[a-z0-9])?\Z")


@dataclass(frozen=True)
class Wishes:
    """What the command line says about a lab."""

    name: str = ""
    site: str = ""
    only: tuple[str, ...] = ()
    """The machines that are wanted; all when empty."""
    firmware: Firmware | None = None
    medium: Medium | None = None
    memory_mib: int | None = None


@dataclass(frozen=True)
class _Guest:
    """A host of the plan, or one that only the number of replicas tells of."""

    name: str
    role: str
    cards: tuple[tuple[str, str], ...]
    addresses: tuple[str, ...] = ()
    hints: RootDeviceHints | None = None


def plan_lab(site: Site, plan: Plan, wishes: Wishes) -> LabPlan:
    """The lab of a valid site."""
    config = site.lab or LabConfig()
    name = wishes.name or plan.name
    if not _NAME.match(name):
        raise UserError(
            f"{name} cannot be the name of a lab", hint="use up to 40 lower-case letters, digits and hyphens"
        )
    guests = list(_guests(plan))
    plugged = _plug(config, guests)
    machines = tuple(_machine(guest, index, config, wishes, plugged) for index, guest in enumerate(guests))
    names = [DEFAULT_SEGMENT, *(segment.name or "" for segment in config.segments)]
    labels = {f"{host.label}/{card}": each for host, guest in zip(site.hosts, guests, strict=False)
              for card, _ in guest.cards for each in [plugged[f"{guest.name}/{card}"]]}  # fmt: skip
    legs = plan_legs(plan, site.hosts, labels, DEFAULT_SEGMENT)
    return LabPlan(
        name=name,
        site=wishes.site,
        architecture=plan.architecture,
        domain=plan.domain,
        machines=_chosen(machines, wishes.only),
        segments=tuple(Segment(each, f"lab{index}") for index, each in enumerate(names)),
        legs=(*legs, *further_addresses(plan, site.hosts, legs)),
        services=_services(config),
        faults=tuple(config.faults),
        api_vips=tuple(map(str, plan.api_vips)),
        ingress_vips=tuple(map(str, plan.ingress_vips)),
        machine_networks=tuple(map(str, plan.networks.machine)),
        rendezvous_ip=str(plan.rendezvous.ip) if plan.rendezvous else "",
        boot_url=plan.boot_artifacts_base_url,
        registry_store=str(Path(wishes.site) / config.registry_store) if config.registry_store else "",
    )


def _services(config: LabConfig) -> tuple[Service, ...]:
    """Those that are asked for; who names what a registry serves wants one."""
    named = (Service.REGISTRY,) if config.registry_store else ()
    return tuple(dict.fromkeys((*config.services, *named)))


def _guests(plan: Plan) -> Iterator[_Guest]:
    """The hosts that are described, then those that the replicas still ask for."""
    used = {host.hostname for host in plan.hosts}
    count = {"master": 0, "arbiter": 0, "worker": 0}
    for host in plan.hosts:
        role = str(host.role)
        name = host.hostname or _free_name(role, count[role], used)
        count[role] += 1
        used.add(name)
        yield _described(host, name)
    for role, wanted in (("master", plan.masters), ("arbiter", plan.arbiters), ("worker", plan.workers)):
        for number in range(count[role], wanted):
            name = _free_name(role, number, used)
            used.add(name)
            yield _Guest(name, role, (("eth0", _derived_mac(f"{plan.domain}/{name}")),))


def _described(host: HostPlan, name: str) -> _Guest:
    cards = tuple((card.name or f"eth{index}", card.mac_address) for index, card in enumerate(host.cards))
    return _Guest(name, str(host.role), cards, host.addresses, host.disk)


def _free_name(role: str, number: int, used: set[str]) -> str:
    while (name := f"{role}-{number}") in used:
        number += 1
    return name


def _derived_mac(text: str) -> str:
    """Always the same for the same machine, in the range that QEMU has."""
    digits = hashlib.sha256(text.encode()).hexdigest()[:6]
    return "52:54:00:" + ":".join(digits[at : at + 2] for at in (0, 2, 4))


def _plug(config: LabConfig, guests: Sequence[_Guest]) -> dict[str, str]:
    """The segment of every card, by HOST/CARD."""
    plugged = {f"{guest.name}/{card}": DEFAULT_SEGMENT for guest in guests for card, _ in guest.cards}
    for segment in config.segments:
        for written in segment.cards:
            same = [key for key in plugged if written in (key, key.partition("/")[2])]
            plugged.update(dict.fromkeys(same, segment.name or ""))
    return plugged


def _machine(
    guest: _Guest, index: int, config: LabConfig, wishes: Wishes, plugged: dict[str, str]
) -> Machine:
    own = next((each for each in config.machines if each.name == guest.name), LabMachine())
    nics = (
        Nic(card, mac, plugged[f"{guest.name}/{card}"], f"m{index}n{number}")
        for number, (card, mac) in enumerate(guest.cards)
    )
    return Machine(
        name=guest.name,
        role=guest.role,
        memory_mib=wishes.memory_mib or own.memory_mib or config.memory_mib or DEFAULT_MEMORY_MIB,
        cpus=own.cpus or config.cpus or DEFAULT_CPUS,
        firmware=wishes.firmware or own.firmware or config.firmware or Firmware.BIOS,
        medium=wishes.medium or own.medium or config.medium or Medium.CD,
        nics=tuple(nics),
        disks=plan_disks(guest.name, guest.hints, own.disks),
        addresses=guest.addresses,
    )


def _chosen(machines: tuple[Machine, ...], only: tuple[str, ...]) -> tuple[Machine, ...]:
    names = [machine.name for machine in machines]
    for name in only:
        if name not in names:
            raise UserError(f"the site has no host {name}", hint=f"its hosts are: {', '.join(names)}")
    return tuple(machine for machine in machines if not only or machine.name in only)
