# SPDX-License-Identifier: Apache-2.0
"""What a management controller can see of machines and do to them; the lab does it with QEMU's monitor."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from muster.errors import UserError
from muster.frozen import dataclass


class Power(StrEnum):
    """Whether a machine runs, in Redfish's words."""

    ON = "On"
    OFF = "Off"


class PowerAction(StrEnum):
    """What can be done about it (ResetType)."""

    ON = "On"
    FORCE_OFF = "ForceOff"
    GRACEFUL_SHUTDOWN = "GracefulShutdown"
    FORCE_RESTART = "ForceRestart"
    PUSH_POWER_BUTTON = "PushPowerButton"


class BootTarget(StrEnum):
    """What a machine is told to boot instead of what its firmware would (BootSourceOverrideTarget)."""

    NONE = "None"
    CD = "Cd"
    HDD = "Hdd"
    PXE = "Pxe"


@dataclass(frozen=True)
class MachineView:
    """A machine as its management controller sees it."""

    name: str
    uuid: str
    power: Power
    firmware: str = "bios"
    """``bios`` or ``uefi``."""
    memory_mib: int = 0
    cpus: int = 0
    architecture: str = "x86_64"
    mac_addresses: tuple[str, ...] = ()
    boot: BootTarget = BootTarget.NONE
    boot_once: bool = False
    """Whether the target is forgotten after the next boot."""
    medium: Path | None = None
    """What is in the virtual drive."""


class Machines(Protocol):
    """The machines of a lab. Names are those of `names`; what cannot be done is a `MusterError`."""

    def names(self) -> Sequence[str]: ...

    def look(self, name: str) -> MachineView: ...

    def power(self, name: str, action: PowerAction) -> None: ...

    def insert(self, name: str, path: Path) -> None:
        """Put an image into the virtual drive; one that was there is gone."""

    def eject(self, name: str) -> None: ...

    def set_boot(self, name: str, target: BootTarget, *, once: bool) -> None: ...


def choose_action(asked: PowerAction, view: MachineView) -> PowerAction | None:
    """What has to be done so that what was asked for is so; None when it is."""
    is_on = view.power is Power.ON
    match asked:
        case PowerAction.ON:
            return None if is_on else asked
        case PowerAction.FORCE_OFF | PowerAction.GRACEFUL_SHUTDOWN:
            return asked if is_on else None
        case PowerAction.PUSH_POWER_BUTTON:
            return asked if is_on else PowerAction.ON
        case PowerAction.FORCE_RESTART:
            if not is_on:
                raise UserError(
                    f"{view.name} is off and cannot be restarted", hint="switch it on: ResetType On"
                )
            return asked
