# SPDX-License-Identifier: Apache-2.0
"""What is kept of a lab that failed: serial logs, reports, pictures, journals, its own log."""

from __future__ import annotations

import contextlib
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from muster.errors import MusterError, cannot
from muster.lab.power import screenshot
from muster.lab.reach import Login, ssh_argv
from muster.lab.recorder import REPORTS_FILE, SERIAL_LOG
from muster.lab.store import EVENTS_FILE, PLAN_FILE, STATE_FILE, Lab, load_lab
from muster.run import Circumstances, run

_LAB_FILES: Final = (EVENTS_FILE, PLAN_FILE, STATE_FILE, "recorder.log")
_MACHINE_FILES: Final = (SERIAL_LOG, "serial.raw", REPORTS_FILE, "qemu.log")
_JOURNAL_S: Final = 60.0


def default_place(root: Path, name: str) -> Path:
    """A folder beside the labs, named after the lab and the time."""
    return root.parent / "evidence" / f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def keep_evidence(folder: Path, place: Path, login: Login | None = None) -> Path:
    """Copy what tells how the lab did; what cannot be had is left out."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name in _LAB_FILES:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(folder / name, place / name)
        for source in sorted((folder / "machines").iterdir()):
            _copy_machine(source, place / source.name)
    except OSError as error:
        raise cannot("write", place, error) from error
    with contextlib.suppress(MusterError):
        lab = load_lab(folder.parent, folder.name)
        for machine in lab.plan.machines:
            with contextlib.suppress(MusterError):
                screenshot(lab, machine.name, place / machine.name / "screen.png")
            if login is not None:
                _keep_journal(lab, machine.name, place / machine.name / "journal.txt", login)
    return place


def _copy_machine(source: Path, place: Path) -> None:
    place.mkdir(exist_ok=True)
    for name in _MACHINE_FILES:
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(source / name, place / name)


def _keep_journal(lab: Lab, name: str, path: Path, login: Login) -> None:
    """The guest's own journal, if it lets us in."""
    command = ["sudo", "journalctl", "-b", "--no-pager", "-o", "short-monotonic"]
    with contextlib.suppress(MusterError):
        argv = ssh_argv(lab, name, login, command)
        text = run(argv, circumstances=Circumstances(deadline_s=_JOURNAL_S))
        path.write_text(text, "utf-8")
