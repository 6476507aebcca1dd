# SPDX-License-Identifier: Apache-2.0
"""Machines made of nothing, for tests of the management controllers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from muster.errors import UserError
from muster.lab.redfish.machines import BootTarget, MachineView, Power, PowerAction

_AFTER = {
    PowerAction.ON: Power.ON,
    PowerAction.FORCE_OFF: Power.OFF,
    PowerAction.GRACEFUL_SHUTDOWN: Power.OFF,
    PowerAction.PUSH_POWER_BUTTON: Power.OFF,
    PowerAction.FORCE_RESTART: Power.ON,
}


class FakeMachines:
    """Two machines that remember what was done to them."""

    def __init__(self) -> None:
        self.views = {
            name: MachineView(
                name,
                f"4d757374-6572-0000-0000-00000000000{index}",
                Power.OFF,
                firmware,
                memory_mib=2048,
                cpus=2,
                mac_addresses=(f"52:54:00:00:0{index}:01", f"52:54:00:00:0{index}:02"),
            )
            for index, (name, firmware) in enumerate([("master-0", "uefi"), ("master-1", "bios")])
        }
        self.done: list[str] = []

    def names(self) -> Sequence[str]:
        return list(self.views)

    def look(self, name: str) -> MachineView:
        return self.views[name]

    def power(self, name: str, action: PowerAction) -> None:
        self.done.append(f"{name} {action.value}")
        self.views[name] = replace(self.views[name], power=_AFTER[action])

    def insert(self, name: str, path: Path) -> None:
        if path.suffix == ".txt":
            raise UserError(f"{path.name} is no image of a disc", hint="insert an ISO")
        self.views[name] = replace(self.views[name], medium=path)

    def eject(self, name: str) -> None:
        self.views[name] = replace(self.views[name], medium=None)

    def set_boot(self, name: str, target: BootTarget, *, once: bool) -> None:
        self.views[name] = replace(self.views[name], boot=target, boot_once=once)
