# SPDX-License-Identifier: Apache-2.0
"""Switching machines on and off, and what is in their drives."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, UserError, cannot
from muster.files import lock_folder
from muster.lab import faults
from muster.lab.network import inside
from muster.lab.plan import Machine
from muster.lab.processes import end_process, find_process, wait_end
from muster.lab.qemu import (
    BESIDE,
    CD,
    COMMAND_SOCKET,
    MEDIUM_BUS,
    MEDIUM_DEVICE,
    PID_FILE,
    STICK,
    STICK_BUS,
    VARIABLES_FILE,
    Boot,
    BootTarget,
    boot_order,
    disk_file,
    render_argv,
)
from muster.lab.qmp import Monitor, Refused, open_monitor
from muster.lab.recording import attach, ensure_recorder, note
from muster.lab.store import Lab, LabState
from muster.model.lab import Firmware, Medium
from muster.run import Circumstances, run

_START_S: Final = 60.0
_END_S: Final = 10.0
_LATER: Final = 50
"""Indices of the order that holds after the first boot; no two devices may have the same at any time."""


@contextlib.contextmanager
def changing(lab: Lab) -> Iterator[LabState]:
    """The state of a lab that is about to be changed, by us alone, with its recorder at work."""
    with lock_folder(lab.folder):
        yield ensure_recorder(lab, lab.load_state())


@contextlib.contextmanager
def monitor_of(lab: Lab, name: str) -> Iterator[Monitor]:
    """The monitor of a machine that is on."""
    lab.plan.machine(name)
    if not lab.load_state().machines[name].is_on:
        raise UserError(f"{name} is off", hint=f"`muster lab power {name} on` switches it on")
    with open_monitor(lab.machine_folder(name) / COMMAND_SOCKET) as monitor:
        yield monitor


def prepare_machine(lab: Lab, machine: Machine, variables: Path | None) -> None:
    """Make the disks of a machine, empty, and its UEFI variables."""
    folder = lab.machine_folder(machine.name)
    for disk in machine.disks:
        path = folder / disk_file(disk)
        try:
            with path.open("xb") as file:
                os.truncate(file.fileno(), disk.size_bytes)
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot("make", path, error) from error
    if machine.firmware is Firmware.UEFI and variables is not None and not (folder / VARIABLES_FILE).exists():
        shutil.copyfile(variables, folder / VARIABLES_FILE)


def switch_on(lab: Lab, state: LabState, name: str) -> LabState:
    """Start a machine that is off, with the faults that it has."""
    machine, now = lab.plan.machine(name), state.machines[name]
    if now.is_on:
        return state
    folder = lab.machine_folder(name)
    medium, beside = (Path(each) if each else None for each in (now.medium, now.beside))
    boot = Boot(medium, beside, now.clock, now.target, now.user_net)
    boot = _try_medium_first(machine, folder, boot)
    argv = render_argv(machine, state.emulator, boot)
    if state.network == "bridge":
        argv = inside(lab.namespace, argv)
    (folder / PID_FILE).unlink(missing_ok=True)
    run(argv, circumstances=Circumstances(cwd=folder, env=state.environment, deadline_s=_START_S))
    process = find_process(int((folder / PID_FILE).read_text("ascii")))
    if process is None:
        raise ExternalError(f"the QEMU of {name} ended at once", hint=f"see {folder / 'qemu.log'}")
    changes: dict[str, object] = {"process": process}
    if now.target_once:
        changes |= {"target": None, "target_once": False}
    state = state.with_machine(name, **changes)
    lab.save_state(state)
    attach(lab, name)
    with open_monitor(folder / COMMAND_SOCKET) as monitor:
        faults.apply_at_start(lab, state, monitor, name)
        if boot.target is not state.machines[name].target:
            _set_order(monitor, machine, replace(boot, target=state.machines[name].target))
        note(lab, name, "power", state="on")
        monitor.execute("cont")
    return state


def _try_medium_first(machine: Machine, folder: Path, boot: Boot) -> Boot:
    """A BIOS tries one disk alone, and a stick is a disk to it: an empty disk must not be in the way."""
    is_disk = machine.medium in (Medium.USB, Medium.DISK) and boot.medium is not None
    if boot.target is not None or not is_disk or not machine.disks:
        return boot
    with (folder / disk_file(machine.disks[0])).open("rb") as file:
        is_empty = not any(file.read(512))
    return replace(boot, target=BootTarget.MEDIUM) if is_empty else boot


def _set_order(monitor: Monitor, machine: Machine, boot: Boot) -> None:
    """The order for the boots after this one; QEMU looks at it when the machine is reset."""
    for device, index in boot_order(machine, boot, first=_LATER).items():
        with contextlib.suppress(Refused):  # A card without its ROM has no place in the order.
            monitor.execute_raw(
                "qom-set", {"path": f"/machine/peripheral/{device}", "property": "bootindex", "value": index}
            )


def switch_off(lab: Lab, state: LabState, name: str, *, cut: bool = False) -> LabState:
    """Stop a machine at once: as if its cable was pulled, or with its disks written first."""
    lab.plan.machine(name)
    process = state.machines[name].process
    if process is not None and process.is_alive:
        if not cut:
            with (
                contextlib.suppress(ExternalError),
                open_monitor(lab.machine_folder(name) / COMMAND_SOCKET) as monitor,
            ):
                monitor.execute("quit")
            wait_end(process, _END_S)
        end_process(process, at_once=True)
    state = state.with_machine(name, process=None)
    lab.save_state(state)
    return state


def reset(lab: Lab, name: str) -> None:
    """Press the reset button."""
    with monitor_of(lab, name) as monitor:
        monitor.execute("system_reset")


def press_power(lab: Lab, name: str) -> None:
    """Press the power button: the guest is asked to shut down."""
    with monitor_of(lab, name) as monitor:
        monitor.execute("system_powerdown")


def eject(lab: Lab, state: LabState, name: str) -> LabState:
    """Take the medium out, also while the guest uses it."""
    medium = lab.plan.machine(name).medium
    if state.machines[name].is_on and state.machines[name].medium:
        with monitor_of(lab, name) as monitor:
            if medium is Medium.USB:
                monitor.execute("device_del", id=STICK)
            elif medium is Medium.DISK:
                monitor.execute("device_del", id=MEDIUM_DEVICE)
            else:
                monitor.execute("eject", id=CD, force=True)
    state = state.with_machine(name, medium="")
    lab.save_state(state)
    return state


def insert(lab: Lab, state: LabState, name: str, path: Path) -> LabState:
    """Put a medium into the drive of a machine."""
    machine = lab.plan.machine(name)
    path = _existing(path)
    state = state.with_machine(name, medium=str(path))
    if state.machines[name].is_on:
        with monitor_of(lab, name) as monitor:
            if machine.medium in (Medium.USB, Medium.DISK):
                _plug(monitor, machine, path)
            else:
                monitor.execute_raw(
                    "blockdev-change-medium",
                    {
                        "id": CD,
                        "filename": str(path),
                        "format": "raw",
                        "read-only-mode": "read-only",
                        "force": True,
                    },
                )
    lab.save_state(state)
    return state


def _existing(path: Path) -> Path:
    path = path.resolve()
    if not path.is_file():
        raise UserError(f"there is no file {path}", hint="name an image that is there")
    return path


def insert_beside(lab: Lab, state: LabState, name: str, path: Path) -> LabState:
    """Plug a stick in, beside what the machine boots from, which may be in use."""
    machine = lab.plan.machine(name)
    path = _existing(path)
    if state.machines[name].beside:
        raise UserError(
            f"{name} has a stick beside its medium already: {state.machines[name].beside}",
            hint=f"`muster lab media {name} --beside --eject` takes it out",
        )
    state = state.with_machine(name, beside=str(path))
    if state.machines[name].is_on:
        with monitor_of(lab, machine.name) as monitor:
            _plug_stick(monitor, BESIDE, path)
    lab.save_state(state)
    return state


def eject_beside(lab: Lab, state: LabState, name: str) -> LabState:
    """Pull that stick out."""
    lab.plan.machine(name)
    if state.machines[name].is_on and state.machines[name].beside:
        with monitor_of(lab, name) as monitor:
            monitor.execute("device_del", id=BESIDE)
    state = state.with_machine(name, beside="")
    lab.save_state(state)
    return state


def _plug(monitor: Monitor, machine: Machine, path: Path) -> None:
    """A stick or disk that comes while the machine runs."""
    if machine.medium is Medium.USB:
        _plug_stick(monitor, STICK, path)
    else:
        node = _add_node(monitor, path)
        monitor.execute("device_add", driver="virtio-blk-pci", bus=MEDIUM_BUS, id=MEDIUM_DEVICE, drive=node)


def _plug_stick(monitor: Monitor, device: str, path: Path) -> None:
    node = _add_node(monitor, path)
    monitor.execute("device_add", driver="usb-storage", bus=STICK_BUS, id=device, drive=node, removable=True)


def _add_node(monitor: Monitor, path: Path) -> str:
    node = f"medium-{secrets.token_hex(3)}"  # That of the last medium may still be there.
    file = {"driver": "file", "filename": str(path), "read-only": True}
    monitor.execute_raw("blockdev-add", {"driver": "raw", "node-name": node, "file": file, "read-only": True})
    return node


def set_target(lab: Lab, state: LabState, name: str, target: BootTarget | None, *, once: bool) -> LabState:
    """What the machine boots from when it is switched on the next time."""
    lab.plan.machine(name)
    state = state.with_machine(name, target=target, target_once=once)
    lab.save_state(state)
    return state


def screenshot(lab: Lab, name: str, path: Path) -> None:
    """A picture of the machine's screen, as PNG."""
    # QEMU has left its folder by now: what is named later has to be named in full.
    made = (lab.machine_folder(name) / "screen.png").resolve()
    with monitor_of(lab, name) as monitor:
        monitor.execute("screendump", filename=str(made), format="png")
    try:
        shutil.move(made, path)
    except OSError as error:
        raise cannot("write", path, error) from error
