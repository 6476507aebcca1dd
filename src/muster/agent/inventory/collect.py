# SPDX-License-Identifier: Apache-2.0
"""All of a host at once: each collector has its own deadline, and what one cannot tell, others still do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec.structs import asdict, replace

from muster.agent.inventory.bmc import collect_bmc
from muster.agent.inventory.boot import collect_boot
from muster.agent.inventory.cpu import collect_cpu
from muster.agent.inventory.disks import collect_disks
from muster.agent.inventory.found import CannotTell, Collect, Found
from muster.agent.inventory.gpus import collect_gpus
from muster.agent.inventory.hostname import collect_hostname, name_host
from muster.agent.inventory.interfaces import collect_interfaces
from muster.agent.inventory.lldp import collect_lldp
from muster.agent.inventory.memory import collect_memory
from muster.agent.inventory.routes import collect_routes
from muster.agent.inventory.system_vendor import collect_system_vendor
from muster.agent.inventory.tpm import collect_tpm
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.extras import Extras
from muster.model.wire.inventory import Inventory
from muster.patience import finish_within


@dataclass(frozen=True)
class Collector:
    """Finds out one part."""

    name: str
    collect: Collect
    deadline_s: float = 30.0
    """Machines that have just booted take their time; what hangs does not hold up the rest."""


@dataclass(frozen=True)
class Trouble:
    """Something that could not be found out."""

    collector: str
    what: str
    """In one sentence."""
    is_bug: bool = False
    """It is our fault, and not that of the machine."""


@dataclass(frozen=True)
class Collected:
    """What is known of a host."""

    inventory: Inventory
    troubles: tuple[Trouble, ...]


COLLECTORS: Final = (
    Collector("cpu", collect_cpu),
    Collector("memory", collect_memory),
    Collector("hostname", collect_hostname),
    Collector("boot", collect_boot),
    Collector("system_vendor", collect_system_vendor),
    Collector("bmc", collect_bmc),
    Collector("tpm", collect_tpm),
    Collector("gpus", collect_gpus),
    Collector("routes", collect_routes),
    Collector("interfaces", collect_interfaces),
    Collector("disks", collect_disks),
    Collector("lldp", collect_lldp),
)


async def collect(machine: Machine, collectors: Sequence[Collector] = COLLECTORS) -> Collected:
    """What can be found out about a machine, by all collectors at the same time."""
    works = (finish_within(each.collect(machine), each.deadline_s) for each in collectors)
    results = await asyncio.gather(*works, return_exceptions=True)
    found = [each for each in results if isinstance(each, Found)]
    inventory = Inventory(**_join([each.inventory for each in found]))
    extras = Extras(**_join([each.extras for each in found]))
    return Collected(
        inventory=replace(
            inventory,
            hostname=name_host(inventory.hostname, inventory.interfaces or ()),
            extras=extras if extras != Extras() else None,
        ),
        troubles=tuple(
            trouble
            for collector, result in zip(collectors, results, strict=True)
            for trouble in _troubles(collector, result)
        ),
    )


def _troubles(collector: Collector, result: Found | BaseException) -> Iterator[Trouble]:
    if isinstance(result, Found):
        yield from (Trouble(collector.name, each) for each in result.troubles)
    elif isinstance(result, TimeoutError):
        yield Trouble(collector.name, f"it took longer than {collector.deadline_s:g} s")
    elif isinstance(result, CannotTell):
        yield Trouble(collector.name, str(result))
    elif isinstance(result, OSError):
        reason = (result.strerror or str(result)).lower()
        yield Trouble(collector.name, f"{result.filename or 'a file'}: {reason}")
    else:
        yield Trouble(
            collector.name, f"a mistake of the agent: {type(result).__name__}: {result}", is_bug=True
        )


def _join(parts: Sequence[Inventory] | Sequence[Extras]) -> dict[str, Any]:
    """What is set in any of these."""
    return {name: value for part in parts for name, value in asdict(part).items() if value is not None}
