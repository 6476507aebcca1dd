# SPDX-License-Identifier: Apache-2.0
"""Breaking things and mending them: what each fault does to a machine's QEMU or to the lab's networks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, UserError
from muster.lab.means import Means
from muster.lab.network import apply_lines, inside, render_partition
from muster.lab.plan import Disk, LabPlan, Machine, Nic
from muster.lab.qmp import Monitor, Refused
from muster.lab.store import Lab, LabState
from muster.model.fault import Fault, FaultKind
from muster.run import Run, find_program, run

_IN_QEMU: Final = (FaultKind.LINK, FaultKind.DISK_FULL, FaultKind.SLOW_DISK)
"""Faults that end with the process, and are made anew when the machine is switched on."""


def check_fault(plan: LabPlan, fault: Fault) -> None:
    """Whether the lab has what the fault is to break."""
    for name in [name for side in fault.sides for name in side] or [fault.machine]:
        plan.machine(name)
    if fault.kind in (FaultKind.LINK, FaultKind.LOSS, FaultKind.DELAY):
        list(find_nics(plan.machine(fault.machine), fault.part))
    if fault.kind in (FaultKind.DISK_FULL, FaultKind.SLOW_DISK):
        find_disks(plan.machine(fault.machine), fault.part)


def find_nics(machine: Machine, part: str) -> Iterator[tuple[int, Nic]]:
    """The card that a fault names, or all of the machine's, with their numbers."""
    names = [nic.name for nic in machine.nics]
    if part and part not in names:
        raise UserError(f"{machine.name} has no card {part}", hint=f"its cards are: {', '.join(names)}")
    return ((number, nic) for number, nic in enumerate(machine.nics) if part in ("", nic.name))


def find_disks(machine: Machine, part: str) -> list[Disk]:
    """The disk that a fault names, or all of the machine's."""
    names = [disk.name for disk in machine.disks]
    if part and part not in names:
        raise UserError(f"{machine.name} has no disk {part}", hint=f"its disks are: {', '.join(names)}")
    return [disk for disk in machine.disks if part in ("", disk.name)]


def apply_at_start(lab: Lab, state: LabState, monitor: Monitor, name: str) -> None:
    """Break in a machine that is being switched on what was broken before."""
    for fault in state.faults:
        if fault.machine == name and fault.kind in _IN_QEMU:
            break_in_qemu(lab, monitor, fault, broken=True)
        if fault.machine == name and fault.kind is FaultKind.DELAY and not _has_netem(lab, state):
            _delay_in_qemu(lab.plan.machine(name), monitor, fault, broken=True)


def break_in_qemu(lab: Lab, monitor: Monitor, fault: Fault, *, broken: bool) -> str:
    """Break or mend what QEMU itself has in its hands; says how."""
    machine = lab.plan.machine(fault.machine)
    match fault.kind:
        case FaultKind.LINK:
            for number, _ in find_nics(machine, fault.part):
                monitor.execute("set_link", name=f"nic{number}", up=not broken)
            return "QEMU's set_link"
        case FaultKind.SLOW_DISK:
            for disk in find_disks(machine, fault.part):
                _throttle(monitor, disk, fault.amount if broken else 0)
            return "QEMU's I/O throttle"
        case FaultKind.DISK_FULL:
            for disk in find_disks(machine, fault.part):
                _fill(monitor, disk, full=broken)
            return "QEMU's blkdebug: every write fails as on a full disk"
        case _:
            raise AssertionError(fault)


def _throttle(monitor: Monitor, disk: Disk, rate: int) -> None:
    """Limit the speed of a disk, or lift the limit with 0. QEMU knows which device a node belongs to."""
    for block in monitor.execute("query-block"):
        if block.get("inserted", {}).get("node-name") == disk.name:
            limits = dict.fromkeys(("bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr"), 0)
            monitor.execute_raw("block_set_io_throttle", {"id": block["qdev"], "bps": rate, **limits})


def _fill(monitor: Monitor, disk: Disk, *, full: bool) -> None:
    """Put a filter that refuses writes between the disk and its file, or take it out."""
    below = f"{disk.name}-full" if full else f"{disk.name}-file"
    if full:
        rule = {"event": "none", "iotype": "write", "errno": 28}
        node = {
            "driver": "blkdebug",
            "node-name": below,
            "image": f"{disk.name}-file",
            "inject-error": [rule],
        }
        with contextlib.suppress(Refused):  # It is still there from the last time.
            monitor.execute_raw("blockdev-add", {**node, "discard": "unmap"})
    top = {"driver": "raw", "node-name": disk.name, "file": below, "discard": "unmap"}
    monitor.execute_raw("blockdev-reopen", {"options": [top]})
    if not full:
        monitor.execute("blockdev-del", node_name=f"{disk.name}-full")


def break_network(lab: Lab, state: LabState, fault: Fault, *, broken: bool, execute: Run = run) -> str:
    """Break or mend packets between machines; says how."""
    if fault.kind is FaultKind.PARTITION:
        _need_bridges(state, fault)
        apply_lines(lab.namespace, render_partition(lab.plan, fault.sides[1], made=broken), execute=execute)
        return "a bridge of its own for the second side; the lab stays with the first"
    machine = lab.plan.machine(fault.machine)
    if _has_netem(lab, state, execute):
        for _, nic in find_nics(machine, fault.part):
            _netem(lab, nic, fault, broken=broken, execute=execute)
        return "tc netem"
    if fault.kind is FaultKind.LOSS:
        _need_bridges(state, fault)
        for _, nic in find_nics(machine, fault.part):
            _drop_some(lab, state, nic, fault.amount if broken else 0)
        return "nftables, as this kernel has no netem"
    return ""


def _need_bridges(state: LabState, fault: Fault) -> None:
    if state.network != "bridge":
        raise UserError(f"{fault.kind} needs networks of the lab's own", hint="start the lab as root")


def _has_netem(lab: Lab, state: LabState, execute: Run = run) -> bool:
    """Whether the kernel can delay and lose packets."""
    if state.network != "bridge" or find_program("tc") is None:
        return False
    try:
        execute(["tc", "-n", lab.namespace, "qdisc", "replace", "dev", "lo", "root", "netem", "delay", "0ms"])
        execute(["tc", "-n", lab.namespace, "qdisc", "del", "dev", "lo", "root"])
    except ExternalError:
        return False
    return True


def _netem(lab: Lab, nic: Nic, fault: Fault, *, broken: bool, execute: Run) -> None:
    words = ["loss", f"{fault.amount}%"] if fault.kind is FaultKind.LOSS else ["delay", f"{fault.amount}ms"]
    base = ["tc", "-n", lab.namespace, "qdisc"]
    if broken:
        execute([*base, "replace", "dev", nic.tap, "root", "netem", *words])
    else:
        with contextlib.suppress(ExternalError):
            execute([*base, "del", "dev", nic.tap, "root"])


def render_loss(nic: Nic, percent: int) -> str:
    """Rules for `nft -f -` that drop some of what a card sends; none for 0."""
    table = f"loss-{nic.tap}"
    lines = [f"add table netdev {table}", f"delete table netdev {table}"]
    if percent:
        lines += [
            f"add table netdev {table}",
            f"add chain netdev {table} in {{ type filter hook ingress device {nic.tap} priority 0; }}",
            f"add rule netdev {table} in numgen random mod 100 < {percent} drop",
        ]
    return "\n".join(lines) + "\n"


def _drop_some(lab: Lab, state: LabState, nic: Nic, percent: int) -> None:
    nft = Means(Path(state.cache)).program("nft")
    run(inside(lab.namespace, [*nft, "-f", "-"]), feed=render_loss(nic, percent))


def delay(lab: Lab, monitor: Monitor, fault: Fault, *, broken: bool) -> str:
    """Delay packets where the kernel cannot."""
    _delay_in_qemu(lab.plan.machine(fault.machine), monitor, fault, broken=broken)
    return "QEMU's filter-buffer: what the guest sends comes in bursts, this far apart"


def _delay_in_qemu(machine: Machine, monitor: Monitor, fault: Fault, *, broken: bool) -> None:
    for number, _ in find_nics(machine, fault.part):
        with contextlib.suppress(Refused):
            monitor.execute("object-del", id=f"delay{number}")
        if broken:
            interval = fault.amount * 1000
            body = {"qom-type": "filter-buffer", "id": f"delay{number}", "netdev": f"net{number}"}
            # What the guest sends waits; in both directions a round trip would take twice as long.
            monitor.execute_raw("object-add", {**body, "interval": interval, "queue": "rx"})
