# SPDX-License-Identifier: Apache-2.0
"""The networks of a lab: bridges and taps in a network namespace of its own. Nothing outside is touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.lab.plan import LabPlan, Machine
from muster.run import Run, find_program, run

TUN: Final = Path("/dev/net/tun")
NAMESPACES: Final = Path("/run/netns")
ISLAND: Final = "island{}"
"""The bridge that the second side of a partition is moved to, one for each segment."""


@dataclass(frozen=True)
class Ability:
    """Whether this machine lets us make networks, and what is in the way."""

    obstacles: tuple[str, ...] = ()

    @property
    def has_bridges(self) -> bool:
        return not self.obstacles


def find_ability() -> Ability:
    """What is in the way of networks of our own."""
    found = []
    if os.geteuid() != 0:
        found.append("only root may make network namespaces")
    if not TUN.exists():
        found.append(f"there is no {TUN}")
    if find_program("ip") is None:
        found.append("the program ip (package iproute2) is not there")
    return Ability(tuple(found))


def choose_network(asked: str | None, plan: LabPlan, ability: Ability) -> tuple[str, str]:
    """bridge or user, and what to tell about it; user networks do for one machine alone."""
    if asked == "user" and len(plan.machines) > 1:
        raise UserError(
            f"--network user connects one machine to the outside, and the lab has {len(plan.machines)}",
            hint="choose one with --only HOST, or leave out --network user",
        )
    if asked == "user":
        return (
            "user",
            "the machine has QEMU's own network: it reaches out, and SSH leads in; services are not offered",
        )
    if ability.has_bridges:
        return "bridge", ""
    reason = ", and ".join(ability.obstacles)
    if asked == "bridge" or len(plan.machines) > 1:
        raise UserError(
            f"the lab cannot connect {len(plan.machines)} machine(s): {reason}",
            hint="run it as root; without it one machine works: --only HOST --network user",
        )
    return "user", (
        f"{reason}: the machine gets QEMU's own network; consoles, power, media, disks, screenshots and SSH"
        " work, services, VLANs, partitions and packet loss do not"
    )


def render_setup(plan: LabPlan) -> list[str]:
    """Lines for `ip -batch` that make bridges, taps and the lab's own addresses."""
    lines = ["link set lo up"]
    for segment in plan.segments:
        lines.append(f"link add {segment.bridge} type bridge stp_state 0 mcast_snooping 0")
        lines.append(f"link set {segment.bridge} up")
    for machine in plan.machines:
        lines += _taps(plan, machine)
    for leg in plan.legs:
        if not leg.vlan:
            late = " nodad" if ":" in leg.address else ""
            lines.append(f"addr add {leg.address} dev {plan.bridge(leg.segment)}{late}")
    return lines


def _taps(plan: LabPlan, machine: Machine) -> Iterator[str]:
    for nic in machine.nics:
        yield f"tuntap add dev {nic.tap} mode tap"
        yield f"link set {nic.tap} master {plan.bridge(nic.segment)}"
        yield f"link set {nic.tap} up"


def render_partition(plan: LabPlan, side: tuple[str, ...], *, made: bool) -> list[str]:
    """Lines that move the cards of some machines to bridges of their own, or back to where they belong."""
    lines = []
    for index, segment in enumerate(plan.segments):
        island = ISLAND.format(index)
        taps = [nic.tap for name in side for nic in plan.machine(name).nics if nic.segment == segment.name]
        if made:
            lines += [f"link add {island} type bridge stp_state 0 mcast_snooping 0", f"link set {island} up"]
        lines += [f"link set {tap} master {island if made else segment.bridge}" for tap in taps]
        if not made:
            lines.append(f"link del {island}")
    return lines


def make_namespace(name: str, plan: LabPlan, *, execute: Run = run) -> None:
    """Make the network namespace of a lab and all that is in it."""
    execute(["ip", "netns", "add", name])
    apply_lines(name, render_setup(plan), execute=execute)


def apply_lines(name: str, lines: list[str], *, execute: Run = run) -> None:
    """Change links of a lab."""
    execute(["ip", "-n", name, "-batch", "-"], feed="".join(f"{line}\n" for line in lines))


def remove_namespace(name: str, *, execute: Run = run) -> bool:
    """Remove the namespace with all links in it; False when there was none."""
    if not (NAMESPACES / name).exists():
        return False
    execute(["ip", "netns", "delete", name])
    return True


def inside(name: str, argv: list[str]) -> list[str]:
    """A command that runs in the namespace."""
    return ["ip", "netns", "exec", name, *argv]
