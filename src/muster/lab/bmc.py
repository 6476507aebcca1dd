# SPDX-License-Identifier: Apache-2.0
"""The management controllers of a lab's machines: Redfish over QEMU's monitors, as a process of the lab.

    python -m muster.lab.bmc FOLDER ADDRESS PORT

Who wants a login sets MUSTER_LAB_REDFISH_LOGIN to USER:PASSWORD for `muster lab up`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from muster.errors import UserError
from muster.lab import power
from muster.lab.power import changing
from muster.lab.processes import find_process
from muster.lab.qemu import BootTarget, machine_id
from muster.lab.recording import note
from muster.lab.redfish import machines as redfish
from muster.lab.redfish.access import Login
from muster.lab.redfish.app import App
from muster.lab.redfish.machines import MachineView, Power, PowerAction
from muster.lab.redfish.server import Endpoint, RedfishServer
from muster.lab.services.service import Place, Service, start_service
from muster.lab.store import Lab, LabState, load_lab

LOGIN_VARIABLE: Final = "MUSTER_LAB_REDFISH_LOGIN"
NOTE: Final = "redfish"
_READY: Final = "Redfish answers at"
_TARGETS: Final = {
    redfish.BootTarget.NONE: None,
    redfish.BootTarget.CD: BootTarget.MEDIUM,
    redfish.BootTarget.HDD: BootTarget.DISK,
    redfish.BootTarget.PXE: BootTarget.NETWORK,
}


class LabMachines:
    """The machines of a lab, as management controllers see and drive them."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def names(self) -> Sequence[str]:
        return [machine.name for machine in self._lab.plan.machines]

    def look(self, name: str) -> MachineView:
        machine, now = self._lab.plan.machine(name), self._lab.load_state().machines[name]
        boot = next(word for word, target in _TARGETS.items() if target is now.target)
        return MachineView(
            name=name,
            uuid=str(machine_id(machine)),
            power=Power.ON if now.is_on else Power.OFF,
            firmware=str(machine.firmware),
            memory_mib=machine.memory_mib,
            cpus=machine.cpus,
            mac_addresses=tuple(nic.mac_address for nic in machine.nics),
            boot=boot,
            boot_once=now.target_once,
            medium=Path(now.medium) if now.medium else None,
        )

    def power(self, name: str, action: PowerAction) -> None:
        with changing(self._lab) as state:
            note(self._lab, name, "note", text=f"power {action}, by Redfish")
            match action:
                case PowerAction.ON:
                    power.switch_on(self._lab, state, name)
                case PowerAction.FORCE_OFF:
                    power.switch_off(self._lab, state, name)
                case PowerAction.GRACEFUL_SHUTDOWN | PowerAction.PUSH_POWER_BUTTON:
                    power.press_power(self._lab, name)
                case PowerAction.FORCE_RESTART if state.machines[name].target is None:
                    power.reset(self._lab, name)
                case PowerAction.FORCE_RESTART:
                    # What a machine boots from is said when it is switched on.
                    power.switch_on(self._lab, power.switch_off(self._lab, state, name), name)

    def insert(self, name: str, path: Path) -> None:
        with changing(self._lab) as state:
            power.insert(self._lab, state, name, path)
            note(self._lab, name, "note", text=f"medium: {path}, by Redfish")

    def eject(self, name: str) -> None:
        with changing(self._lab) as state:
            power.eject(self._lab, state, name)
            note(self._lab, name, "note", text="medium: ejected, by Redfish")

    def set_boot(self, name: str, target: redfish.BootTarget, *, once: bool) -> None:
        with changing(self._lab) as state:
            power.set_target(self._lab, state, name, _TARGETS[target], once=once)


def parse_endpoint(text: str) -> Endpoint:
    """``8000`` or ``ADDRESS:8000``; without an address, on this machine alone."""
    address, _, port = text.rpartition(":")
    if not port.isdecimal() or not int(port) < 1 << 16:
        raise UserError(f"{text!r} is no place for Redfish", hint="write a port, or ADDRESS:PORT")
    endpoint = Endpoint(address.strip("[]") or "127.0.0.1", int(port))
    if endpoint.address not in ("127.0.0.1", "::1") and not os.environ.get(LOGIN_VARIABLE):
        raise UserError(
            f"Redfish at {endpoint.address} could be used by everybody who reaches it",
            hint=f"set {LOGIN_VARIABLE} to USER:PASSWORD, or let it listen at 127.0.0.1",
        )
    return endpoint


def describe_bmc(lab: Lab, endpoint: Endpoint) -> Service:
    """The controllers, as a service of the lab outside of its networks."""
    words = (str(lab.folder.resolve()), endpoint.address, str(endpoint.port))
    return Service("redfish", (sys.executable, "-m", "muster.lab.bmc", *words), _READY)


def start_bmc(lab: Lab, state: LabState, endpoint: Endpoint) -> LabState:
    """Start the controllers; they answer outside of the lab's networks, as those of real machines do."""
    service, place = describe_bmc(lab, endpoint), Place(lab.folder / "services", env=state.environment)
    pid = start_service(service, place)
    said = (place.of(service) / "log").read_text("utf-8", "replace")
    url = next(line for line in said.splitlines() if line.startswith(_READY)).removeprefix(_READY).strip()
    process = find_process(pid)
    helpers = {**state.helpers, NOTE: process} if process else state.helpers
    state = replace(state, helpers=helpers, notes={**state.notes, NOTE: f"{url}/redfish/v1"})
    lab.save_state(state)
    return state


def main(arguments: list[str]) -> None:
    """Serve until we are ended."""
    folder, address, port = arguments
    lab = load_lab(Path(folder).parent, Path(folder).name)
    user, _, password = os.environ.get(LOGIN_VARIABLE, "").partition(":")
    login = Login(user, password) if user else None
    app = App(LabMachines(lab), lab.folder / "media", login)
    try:
        server = RedfishServer(app, Endpoint(address, int(port)))
    except UserError as error:
        raise SystemExit(error.message) from error
    sys.stdout.write(f"{_READY} {server.url}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
