# SPDX-License-Identifier: Apache-2.0
"""Writing the system to the disk, with coreos-installer."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.node.boot_code import pass_on, passing_on
from muster.node.following import Follow, follow
from muster.node.pace import parse_progress
from muster.node.plan import InstallPlan
from muster.node.telling import See
from muster.run import Argument

_DEADLINE_S: Final = 3600.0
_PREDECESSOR_S: Final = 60
_LOCKED: Final = 75
_LOCK: Final = "writing.lock"
_NEARLY: Final = 80
"""Percent; the image's own boot code comes last."""


@dataclass(frozen=True)
class Writer:
    """How it is written."""

    folder: Path
    """Where the lock is kept."""
    program: str = "coreos-installer"
    follow: Follow = follow


async def write_disk(
    plan: InstallPlan, ignition: Path, device: Path | None, writer: Writer, see: See
) -> None:
    """Write the disk of the plan, which has been identified again; ``see`` is told each progress.

    A writer that outlived the one who started it is waited for: two at a time would spoil the disk. What it
    mounts is in a namespace of its own, and so is gone when it ends, however it ends. ``device`` is the disk,
    where a BIOS may come to start it before it is whole.
    """

    def hear(line: str) -> None:
        seen = parse_progress(line)
        if seen is not None:
            see(seen)
            if seen.percent is None or seen.percent >= _NEARLY:
                passing.cancel()

    patience = ("--timeout", str(_PREDECESSOR_S), "--conflict-exit-code", str(_LOCKED))
    alone = ("unshare", "--mount", "flock", *patience, writer.folder / _LOCK)
    command: tuple[Argument, ...] = (*alone, *installer_command(plan, ignition, writer.program))
    try:
        async with passing_on(device) as passing:
            await writer.follow(command, hear, _DEADLINE_S)
    except ExternalError as error:
        pass_on(device)
        raise _not_written(plan, writer, error) from error


def _not_written(plan: InstallPlan, writer: Writer, error: ExternalError) -> ExternalError:
    if error.message.startswith(f"unshare failed with status {_LOCKED}"):
        return ExternalError(
            f"an earlier {writer.program} still writes to the disk {plan.disk}",
            hint="end it, or restart this host",
        )
    said = error.message
    if said.startswith("unshare "):
        said = Path(writer.program).name + said.removeprefix("unshare")
    return ExternalError(
        f"the disk {plan.disk} was not written: {said}",
        hint=f"check the disk and its cable, and the kernel's messages with dmesg; {error.hint}",
    )


def installer_command(plan: InstallPlan, ignition: Path, program: str) -> tuple[str, ...]:
    """The command line. The configuration comes from a file, and so no secret is in it."""
    return (program, "install", f"--ignition-file={ignition}", *plan.args, plan.disk.path)
