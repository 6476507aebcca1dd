# SPDX-License-Identifier: Apache-2.0
"""A lab comes and goes: everything that `up` makes is written down first, so that `down` finds all of it."""

from __future__ import annotations

import contextlib
import socket
import uuid
from collections.abc import Callable
from ipaddress import ip_interface
from pathlib import Path

from muster.errors import MusterError, UserError
from muster.files import lock_folder
from muster.frozen import dataclass
from muster.lab.bmc import NOTE, start_bmc
from muster.lab.emulator import Choice
from muster.lab.faulting import cut
from muster.lab.means import Means
from muster.lab.network import NAMESPACES, make_namespace, remove_namespace
from muster.lab.plan import LabPlan
from muster.lab.power import prepare_machine, switch_on
from muster.lab.processes import end_process, find_processes
from muster.lab.qemu import UserNet
from muster.lab.recording import ensure_recorder
from muster.lab.redfish.server import Endpoint
from muster.lab.serving import start_legs, start_services
from muster.lab.store import (
    Lab,
    LabState,
    MachineState,
    load_lab,
    make_lab,
    namespace_of,
    remove_folder,
)
from muster.model.fault import FaultKind, render_moment
from muster.model.lab import Medium
from muster.run import Run, run

Say = Callable[[str], None]


@dataclass(frozen=True)
class Start:
    """What a lab is started with."""

    means: Means
    choice: Choice
    network: str
    medium: Path | None
    boot_files: Path | None = None
    """Where the files for machines without a medium are."""
    redfish: Endpoint | None = None
    """Where management controllers answer, if they are wanted."""


def check_name(root: Path, name: str) -> None:
    """Refuse a name that a lab has, with what is left of that."""
    folder = root / name
    if folder.exists():
        running = list(_alive(root, name))
        if running:
            raise UserError(
                f"a lab {name} is there already, with {len(running)} process(es)",
                hint=f"`muster lab down {name}` ends it; --name gives this one another name",
            )
        raise UserError(
            f"a lab {name} was left behind: nothing of it runs any more",
            hint=f"`muster lab down {name}` removes it (--keep-evidence keeps its logs), then run this again",
        )
    if (NAMESPACES / namespace_of(name)).exists():
        raise UserError(
            f"the network namespace {namespace_of(name)} is there, but belongs to no lab of yours",
            hint=f"it may be another user's: use --name; if not, `ip netns delete {namespace_of(name)}`",
        )


def _alive(root: Path, name: str) -> list[int]:
    try:
        state = load_lab(root, name).load_state()
    except MusterError:
        return []
    return [process.pid for process in state.processes() if process.is_alive]


def bring_up(root: Path, plan: LabPlan, start: Start, say: Say) -> Lab:
    """Make a lab and switch all of its machines on. When that fails, nothing is left of it."""
    check_name(root, plan.name)
    lab = make_lab(root / plan.name, plan)
    try:
        with lock_folder(lab.folder):
            state = _first_state(lab, start)
            lab.save_state(state)
            if start.network == "bridge":
                make_namespace(lab.namespace, plan)
                state = start_legs(lab, state)
                state = start_services(lab, state, start.means, start.boot_files)
            for machine in plan.machines:
                prepare_machine(lab, machine, start.choice.variables)
            state = ensure_recorder(lab, state)
            for machine in plan.machines:
                state = switch_on(lab, state, machine.name)
                say(f"{machine.name} is on")
            if start.redfish is not None:
                state = start_bmc(lab, state, start.redfish)
                say(f"Redfish answers at {state.notes[NOTE]}")
            for fault in plan.faults:
                if fault.kind is not FaultKind.CLOCK:
                    state, how = cut(lab, state, fault)
                    say(f"{fault}: {how}")
    except BaseException:
        with contextlib.suppress(MusterError):
            take_down(root, plan.name)
        raise
    return lab


def _first_state(lab: Lab, start: Start) -> LabState:
    clocks = {fault.machine: fault for fault in lab.plan.faults if fault.kind is FaultKind.CLOCK}
    machines = {
        machine.name: MachineState(
            medium=str(start.medium.resolve()) if start.medium and machine.medium not in _NO_MEDIUM else "",
            clock=render_moment(clocks[machine.name].amount) if machine.name in clocks else "",
            user_net=_user_net(lab.plan, machine.addresses, start) if start.network == "user" else None,
        )
        for machine in lab.plan.machines
    }
    faults = tuple(clocks.values())
    return LabState(
        id=uuid.uuid4().hex,
        network=start.network,
        emulator=start.choice.emulator,
        cache=str(start.means.cache),
        machines=machines,
        faults=faults,
    )


_NO_MEDIUM = (Medium.PXE, Medium.NONE)


def _user_net(plan: LabPlan, addresses: tuple[str, ...], start: Start) -> UserNet:
    """QEMU's own network in the shape of the site's first ones, so that static addresses work there."""
    legs = [ip_interface(leg.address) for leg in plan.legs]
    four = next((leg for leg in legs if leg.version == 4), None)
    six = next((leg for leg in legs if leg.version == 6), None)
    own = [ip_interface(address) for address in addresses]
    guest = next((str(each.ip) for each in own if four is not None and each.ip in four.network), "")
    files = start.boot_files
    script = next(iter(sorted(files.glob("*.ipxe"))), None) if files else None
    return UserNet(
        ssh_port=_free_port(),
        network=str(four.network) if four else "",
        gateway=str(four.ip) if four else "",
        guest=guest,
        network6=str(six.network) if six else "",
        tftp=str(files.resolve()) if files else "",
        bootfile=script.name if script else "",
    )


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@dataclass(frozen=True)
class Removed:
    """What was there of a lab."""

    processes: int
    namespace: bool
    folder: bool

    @property
    def is_anything(self) -> bool:
        return bool(self.processes or self.namespace or self.folder)


def take_down(root: Path, name: str, *, execute: Run = run) -> Removed:
    """End and remove everything of a lab, whatever state it is in. Nothing happens when there is nothing."""
    folder = root / name
    ended = 0
    try:
        state: LabState | None = Lab(folder, _bare_plan(name)).load_state()
    except MusterError:
        state = None
    if state is not None:
        for process in {*state.processes(), *find_processes(state.id)}:
            ended += process.is_alive
            end_process(process, at_once=True)
    namespace = (
        remove_namespace(namespace_of(name), execute=execute) if _may_remove(state, name, execute) else False
    )
    there = folder.exists()
    remove_folder(folder)
    return Removed(ended, namespace, there)


def _may_remove(state: LabState | None, name: str, execute: Run) -> bool:
    """A namespace without a lab is removed only when nobody is in it."""
    if not (NAMESPACES / namespace_of(name)).exists():
        return False
    return state is not None or not execute(["ip", "netns", "pids", namespace_of(name)]).strip()


def _bare_plan(name: str) -> LabPlan:
    """Enough of a plan to find the state of a lab whose own plan cannot be read."""
    return LabPlan(name, "", "", "", (), (), ())
