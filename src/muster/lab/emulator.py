# SPDX-License-Identifier: Apache-2.0
"""Which QEMU a lab runs on, with which accelerator and firmware, and what to tell users about that."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, UserError
from muster.frozen import dataclass
from muster.lab.plan import LabPlan
from muster.lab.qemu import Emulator
from muster.model.lab import Firmware
from muster.run import Circumstances, Run, find_program, run

PROGRAMS: Final = {"amd64": "qemu-system-x86_64", "x86_64": "qemu-system-x86_64"}
_OVMF: Final = "usr/share/OVMF"
_CODE: Final = "OVMF_CODE_4M.fd"
_VARIABLES: Final = "OVMF_VARS_4M.fd"
LEAST_MAJOR: Final = 8
"""Older QEMUs panicked guests with several processors under TCG."""


@dataclass(frozen=True)
class Choice:
    """A QEMU, the template of UEFI's variables if that is wanted, and what was said about the choice."""

    emulator: Emulator
    variables: Path | None
    words: tuple[str, ...]


def choose_emulator(
    plan: LabPlan, *, program: str | None, cache: Path, say: Callable[[str], None], execute: Run = run
) -> Choice:
    """The QEMU that was asked for, else the system's when it is new enough, else that of the toolbox."""
    name = PROGRAMS.get(plan.architecture)
    if name is None:
        raise UserError(
            f"the lab has no machines for {plan.architecture} yet",
            hint=f"architectures that it has: {', '.join(sorted(PROGRAMS))}",
        )
    argv, root, words = _find_qemu(name, program, cache, say, execute)
    code, variables = _find_firmware(plan, root)
    accel, reason = _accel(argv, cache)
    emulator = Emulator(tuple(argv), accel, str(code or ""))
    return Choice(emulator, variables, (words, reason))


def _find_qemu(
    name: str, program: str | None, cache: Path, say: Callable[[str], None], execute: Run
) -> tuple[list[str], Path | None, str]:
    if program is not None:
        return [program], None, f"QEMU {version_of([program], execute)} ({program})"
    system = find_program(name)
    if system is not None:
        version = version_of([str(system)], execute)
        if int(version.partition(".")[0]) >= LEAST_MAJOR:
            return [str(system)], None, f"QEMU {version} of this system"
        why = f"QEMU {version} of this system is older than {LEAST_MAJOR} and makes guests panic"
    else:
        why = f"there is no {name} on this system"
    return _toolbox_qemu(name, cache, why, say, execute)


def _toolbox_qemu(
    name: str, cache: Path, why: str, say: Callable[[str], None], execute: Run
) -> tuple[list[str], Path | None, str]:
    from muster.toolbox import open_toolbox

    toolbox = open_toolbox(cache, run=execute, heard=say)
    argv = [str(word) for word in toolbox.argv(name)]
    return argv, toolbox.path(""), f"QEMU {version_of(argv, execute)} of the toolbox, as {why}"


def version_of(argv: list[str], execute: Run = run) -> str:
    """The version of a QEMU."""
    text = execute([*argv, "--version"], circumstances=Circumstances(deadline_s=20))
    found = re.search(r"version (\d+\.\d+(?:\.\d+)?)", text)
    if not found:
        raise ExternalError(
            f"{argv[-1]} is no QEMU: it says {text[:80]!r}", hint="name another one with --qemu"
        )
    return found[1]


def _find_firmware(plan: LabPlan, root: Path | None) -> tuple[Path | None, Path | None]:
    wanted = [machine.name for machine in plan.machines if machine.firmware is Firmware.UEFI]
    if not wanted:
        return None, None
    for base in filter(None, (root, Path("/"))):
        code, variables = base / _OVMF / _CODE, base / _OVMF / _VARIABLES
        if code.exists() and variables.exists():
            return code, variables
    raise UserError(
        f"{wanted[0]} is to start with UEFI, and there is no {_CODE}",
        hint="install the package ovmf, or make it a bios machine in lab.yaml",
    )


def _accel(argv: list[str], cache: Path) -> tuple[str, str]:
    """KVM where a guest really boots with it, else TCG."""
    try:
        from muster.lab.accel import choose_accel
    except ImportError:
        return (
            "tcg",
            "without KVM: every instruction is translated, expect minutes where hardware takes seconds",
        )
    chosen = choose_accel(argv, cache)
    return chosen.kind, f"{chosen.reason}; {chosen.expectation}"
