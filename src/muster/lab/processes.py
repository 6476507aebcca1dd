# SPDX-License-Identifier: Apache-2.0
"""Processes that outlive the command which started them: known by pid and start time, ended for certain.

A pid alone may belong to somebody else by now; together with the time of its start it cannot.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.errors import ExternalError
from muster.frozen import dataclass

LAB_VARIABLE: Final = "MUSTER_LAB"
"""Every process of a lab has the lab's id in this variable of its environment."""
_PROC: Final = Path("/proc")
_START_FIELD: Final = 19
"""The time of the start, counted behind the name: field 22 of /proc/PID/stat."""
_PATIENCE_S: Final = 5.0


@dataclass(frozen=True)
class Process:
    """A process, for as long as it lives and no longer."""

    pid: int
    start: int
    """Ticks since the machine booted."""

    @property
    def is_alive(self) -> bool:
        return find_start(self.pid) == self.start


def find_process(pid: int) -> Process | None:
    """The process that has a pid now; None when there is none."""
    start = find_start(pid)
    return None if start is None else Process(pid, start)


def find_start(pid: int) -> int | None:
    """When a process started; None when it is gone, or only its parent still knows of it."""
    try:
        text = (_PROC / str(pid) / "stat").read_text("ascii", errors="replace")
    except OSError:
        return None
    return parse_start(text)


def parse_start(stat: str) -> int | None:
    """The time of the start in /proc/PID/stat; None for a zombie."""
    words = stat.rpartition(")")[2].split()
    return None if words[0] in ("Z", "X") else int(words[_START_FIELD])


def end_process(process: Process, *, at_once: bool = False) -> None:
    """Ask a process to end, and kill it when it does not. Nothing happens when it is gone."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if not process.is_alive:
            return
        for number in (signal.SIGKILL,) if at_once else (signal.SIGTERM, signal.SIGKILL):
            try:
                signal.pidfd_send_signal(descriptor, number)
            except ProcessLookupError:
                return
            if _has_ended(descriptor):
                return
    finally:
        os.close(descriptor)
    raise ExternalError(
        f"process {process.pid} does not end, although it was killed", hint="see what it waits for in /proc"
    )


def wait_end(process: Process, deadline_s: float) -> bool:
    """Wait until a process is gone; False when it is still there after that time."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    try:
        return not process.is_alive or _has_ended(descriptor, deadline_s)
    finally:
        os.close(descriptor)


def _has_ended(descriptor: int, deadline_s: float = _PATIENCE_S) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(deadline_s * 1000))


def find_processes(lab_id: str) -> Iterator[Process]:
    """All processes of a lab, also those that nobody wrote down before the command was killed."""
    wanted = f"{LAB_VARIABLE}={lab_id}".encode()
    for path in _PROC.iterdir():
        if not path.name.isdigit() or int(path.name) == os.getpid():
            continue
        try:
            words = (path / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        found = find_process(int(path.name)) if wanted in words else None
        if found is not None:
            yield found
