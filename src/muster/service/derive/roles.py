# SPDX-License-Identifier: Apache-2.0
"""Roles: who becomes the control plane when nobody said so, and who begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from muster.frozen import dataclass
from muster.model.wire.inventory import Inventory
from muster.service.derive.addresses import addressed
from muster.service.state import Cluster, Host

Fits: TypeAlias = Callable[[Host, str], bool]
"""Whether a host is enough for a role."""
CONTROL_PLANE: Final = frozenset({"master", "bootstrap"})
Weight: TypeAlias = tuple[bool, float]
_GIB = 1 << 30
_GB = 10**9


def effective_role(host: Host) -> str:
    """What a host is, or is going to be as far as is known."""
    return host.suggested_role if host.role == "auto-assign" else host.role


def weigh(inventory: Inventory) -> Weight:
    """How much of a machine it is: those with GPUs last, then by cores, memory and disks."""
    cores = (inventory.cpu.count if inventory.cpu is not None else None) or 0
    memory = (inventory.memory.physical_bytes if inventory.memory is not None else None) or 0
    disks = sum(
        disk.size_bytes or 0
        for disk in inventory.disks or ()
        if disk.installation_eligibility is not None and disk.installation_eligibility.eligible
    )
    weight = (cores - 4) + 0.1 * (memory / _GIB - 16) + 0.004 * (disks / _GIB - 100)
    return (bool(inventory.gpus), round(weight, 4))


@dataclass(frozen=True)
class Suggestion:
    """A role, and why it is this one."""

    role: str
    reason: str


@dataclass(frozen=True)
class Candidate:
    """A host that may get a role."""

    weight: Weight
    number: int
    id: str


def suggest_roles(
    cluster: Cluster,
    candidates: Iterable[Candidate],
    given: Mapping[str, int],
    fits: Callable[[str, str], bool],
) -> dict[str, Suggestion]:
    """Roles for the hosts that nobody gave one: the weakest that are enough are the control plane.

    `given` says how many hosts got each role from people; `fits` is asked with the id of a host and a role.
    """
    masters, arbiters = given.get("master", 0), given.get("arbiter", 0)
    suggestions = {}
    for each in sorted(candidates, key=lambda each: (each.weight, each.number)):
        if masters < cluster.control_plane_count and fits(each.id, "master"):
            masters += 1
            suggestions[each.id] = Suggestion("master", _why_master(cluster))
        elif cluster.control_plane_count == 2 and not arbiters and fits(each.id, "arbiter"):
            arbiters += 1
            suggestions[each.id] = Suggestion("arbiter", "two control plane hosts need an arbiter")
        else:
            suggestions[each.id] = _INSUFFICIENT if masters < cluster.control_plane_count else _SPARE
    return suggestions


_SPARE: Final = Suggestion("worker", "other hosts are the control plane")
_INSUFFICIENT: Final = Suggestion("worker", "it is not enough for the control plane")


def _why_master(cluster: Cluster) -> str:
    if cluster.control_plane_count == 1:
        return "the only host is the control plane"
    return (
        f"it is among the {cluster.control_plane_count} weakest hosts that are enough for the control plane"
    )


@dataclass(frozen=True)
class Choice:
    """The host that begins, and why it is this one."""

    host: Host
    reason: str


def choose_bootstrap(hosts: Iterable[Host], rendezvous_ip: str = "") -> Choice | None:
    """The host that begins: the one that was chosen, the one that the service runs on, or the last one."""
    masters = sorted(
        (host for host in hosts if effective_role(host) in ("master", "bootstrap")),
        key=lambda host: host.number,
    )
    for host in masters:
        if host.bootstrap:
            return Choice(host, "it was chosen before")
    for host in masters if rendezvous_ip else ():
        if any(address == rendezvous_ip for _, address, _ in addressed(host.inventory)):
            return Choice(host, f"it has the rendezvous address {rendezvous_ip}")
    if not masters:
        return None
    return Choice(masters[-1], "it is the control plane host that came last")


def masters_are_schedulable(cluster: Cluster, workers: int) -> bool:
    """Whether the control plane has to run what users run, as there are too few others."""
    return cluster.control_plane_count == 1 or workers < 2
