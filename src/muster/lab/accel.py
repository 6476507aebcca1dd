# SPDX-License-Identifier: Apache-2.0
"""Which QEMU runs the lab's machines, and whether KVM speeds them up: it is tried, not believed."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from muster.errors import ExternalError
from muster.files import save_file
from muster.frozen import dataclass
from muster.lab.probe import LETTER, PROBES, probe_argv
from muster.run import Circumstances, Run, find_program, run
from muster.toolbox import Toolbox

OLDEST: Final = 8
"""QEMU 7.2 panicked guests without KVM; 10 never did."""
PATIENCE_S: Final = 3.0

Kind: TypeAlias = Literal["kvm", "tcg"]

_EXPECTATIONS: Final[dict[Kind, str]] = {
    "kvm": "machines run about as fast as this one",
    "tcg": "machines are emulated: a boot takes one to two minutes, and more when several boot at once",
}
_CPUS: Final[dict[tuple[Kind, str], str]] = {
    # The quickest to emulate of those that were tried. By the model number of an early Atom a kernel
    # knows that nothing is speculated, and does without costly precautions: a third less time to boot.
    # Chance comes from the processor, as on every real machine: without it a first boot waits ten seconds
    # for the names of its partitions.
    ("tcg", "x86_64"): "Westmere,model=28,stepping=2,rdrand=on",
    ("tcg", "aarch64"): "cortex-a57",
}


@dataclass(frozen=True)
class Accel:
    """How guests are sped up, why so, and what to expect of it."""

    kind: Kind
    reason: str
    expectation: str

    def arguments(self, machine: str, *, is_crowded: bool = False) -> list[str]:
        """What QEMU is told; in a crowd there are more processors in guests than here.

        Then the processors of a guest take turns in one thread. Side by side they would wait for each other,
        each while the other is not running, and a guest whose timer comes late may lose a processor for good.
        """
        thread = "single" if is_crowded else "multi"
        how = f"tcg,thread={thread},tb-size=512" if self.kind == "tcg" else self.kind
        return ["-accel", how, "-cpu", _CPUS.get((self.kind, machine), "host")]


@dataclass(frozen=True)
class Qemu:
    """The QEMU that runs the lab's machines, and why this one."""

    argv: tuple[str, ...]
    version: tuple[int, int]
    reason: str


def choose_qemu(machine: str, open_toolbox: Callable[[], Toolbox], *, run: Run = run) -> Qemu:
    """That of the system when it is new enough, else that of the toolbox, which is made if need be."""
    name = f"qemu-system-{machine}"
    own = find_program(name)
    version = find_version(run([own, "--version"])) if own else None
    if own and version and version[0] >= OLDEST:
        return Qemu((str(own),), version, f"the system's QEMU {_dotted(version)}")
    argv = open_toolbox().argv(name)
    ours = find_version(run([*argv, "--version"]))
    if ours is None:
        raise ExternalError(
            f"{argv[0]} does not say its version", hint="remove the toolbox; it is made again"
        )
    why = f"the system's {_dotted(version)} is older than {OLDEST}" if version else "the system has none"
    return Qemu(tuple(argv), ours, f"the toolbox's QEMU {_dotted(ours)}: {why}")


def find_version(text: str) -> tuple[int, int] | None:
    """What ``--version`` says of itself."""
    match = re.search(r"version (\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


@dataclass(frozen=True)
class Host:
    """What the choice of an accelerator depends on, besides the trial."""

    machine: str
    boot_id: str
    has_device: bool
    may_use_device: bool


def look_at_host(device: Path = Path("/dev/kvm")) -> Host:
    return Host(
        machine=os.uname().machine,
        boot_id=Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip(),
        has_device=device.exists(),
        may_use_device=os.access(device, os.R_OK | os.W_OK),
    )


def choose_accel(machine: str, qemu: Sequence[str], cache_root: Path, *, host: Host, run: Run = run) -> Accel:
    """KVM if a guest really runs with it; the verdict holds until the machine is booted again."""
    obstacle = find_obstacle(machine, host)
    if obstacle:
        return _accel("tcg", obstacle)
    record = cache_root / "lab" / "kvm.json"
    key = f"{host.boot_id} {' '.join(qemu)}"
    failure = _find_verdict(record, key)
    if failure is None:
        failure = find_failure(machine, qemu, run)
        save_file(record, json.dumps({"key": key, "failure": failure}).encode())
    return _accel("tcg", f"KVM was tried: {failure}") if failure else _accel("kvm", "a guest booted with it")


def find_obstacle(machine: str, host: Host) -> str:
    """Why KVM need not even be tried; empty when it may work."""
    if machine != host.machine:
        return f"guests of kind {machine} on a machine of kind {host.machine}"
    if machine not in PROBES:
        return f"KVM is not tried on machines of kind {machine}"
    if not host.has_device:
        return "there is no /dev/kvm"
    if not host.may_use_device:
        return "/dev/kvm may not be used by this user (the group kvm may)"
    return ""


def find_failure(machine: str, qemu: Sequence[str], run: Run = run, accel: Kind = "kvm") -> str:
    """Boot the smallest guest there is; what went wrong, or empty."""
    with tempfile.TemporaryDirectory(prefix="muster-probe-") as folder:
        guest = Path(folder) / "guest"
        guest.write_bytes(PROBES[machine].content)
        argv = probe_argv(qemu, machine, accel, str(guest))
        try:
            said = run(argv, circumstances=Circumstances(deadline_s=PATIENCE_S))
        except ExternalError as error:
            if "did not end within" in error.message:
                return f"the smallest guest did not run within {PATIENCE_S:g} s"
            return error.message.splitlines()[-1].strip()
    return "" if LETTER in said.split() else "the smallest guest said nothing"


def _find_verdict(record: Path, key: str) -> str | None:
    try:
        kept: Any = json.loads(record.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if isinstance(kept, dict) and kept.get("key") == key and isinstance(kept.get("failure"), str):
        return str(kept["failure"])
    return None


def _accel(kind: Kind, reason: str) -> Accel:
    return Accel(kind, reason, _EXPECTATIONS[kind])
