# SPDX-License-Identifier: Apache-2.0
"""The QEMU, accelerator and firmware that a lab runs on, and what to tell users about them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from muster.errors import ExternalError, UserError
from muster.frozen import dataclass
from muster.lab.accel import choose_accel, choose_qemu, find_version, look_at_host
from muster.lab.capacity import is_crowded
from muster.lab.means import Means
from muster.lab.plan import LabPlan
from muster.lab.qemu import Emulator
from muster.model.lab import Firmware
from muster.run import Circumstances, run

MACHINES: Final = {"amd64": "x86_64", "x86_64": "x86_64"}
"""The architectures that the lab has machines for, as QEMU calls them."""
_CODE: Final = "usr/share/OVMF/OVMF_CODE_4M.fd"
_VARIABLES: Final = "usr/share/OVMF/OVMF_VARS_4M.fd"


@dataclass(frozen=True)
class Choice:
    """A QEMU, the template of UEFI's variables if that is wanted, and what was said about the choice."""

    emulator: Emulator
    variables: Path | None
    words: tuple[str, ...]


def choose_emulator(plan: LabPlan, means: Means) -> Choice:
    """The QEMU that was asked for, else the system's when it is new enough, else that of the toolbox."""
    machine = MACHINES.get(plan.architecture)
    if machine is None:
        raise UserError(
            f"the lab has no machines for {plan.architecture} yet",
            hint=f"architectures that it has: {', '.join(sorted(MACHINES))}",
        )
    if means.qemu is not None:
        argv, words = _named_qemu(means.qemu)
    else:
        found = choose_qemu(machine, means.open_toolbox)
        argv, words = found.argv, found.reason
    code, variables = _find_firmware(plan, means)
    accel = choose_accel(machine, argv, means.cache, host=look_at_host())
    arguments = accel.arguments(machine, is_crowded=is_crowded(plan, means.processors))
    emulator = Emulator(argv, accel.kind, tuple(arguments), str(code or ""))
    shown = f"{words}; {accel.kind} ({accel.reason}): {accel.expectation}"
    return Choice(emulator, variables, (shown,))


def _named_qemu(program: str) -> tuple[tuple[str, ...], str]:
    text = run([program, "--version"], circumstances=Circumstances(deadline_s=20))
    version = find_version(text)
    if version is None:
        raise ExternalError(
            f"{program} is no QEMU: it says {text[:60]!r}", hint="name another one with --qemu"
        )
    return (program,), f"QEMU {version[0]}.{version[1]}, as --qemu says"


def _find_firmware(plan: LabPlan, means: Means) -> tuple[Path | None, Path | None]:
    """OVMF's code and its empty variables: the system's, else the toolbox's."""
    if all(machine.firmware is not Firmware.UEFI for machine in plan.machines):
        return None, None
    code, variables = Path("/", _CODE), Path("/", _VARIABLES)
    if code.exists() and variables.exists():
        return code, variables
    toolbox = means.open_toolbox()
    return toolbox.path(_CODE), toolbox.path(_VARIABLES)
