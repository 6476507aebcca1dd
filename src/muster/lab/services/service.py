# SPDX-License-Identifier: Apache-2.0
"""A service of the lab: a program with its configuration, started in the lab's network namespace.

Each module beside this one describes one as plain data; nothing but `start_service` does anything.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from muster.errors import ExternalError
from muster.files import save_file
from muster.folders import make_folder
from muster.frozen import dataclass
from muster.run import Circumstances, start

PATIENCE_S: Final = 20.0
_LAST_BYTES: Final = 2000


@dataclass(frozen=True)
class Service:
    """A program that serves until it is ended."""

    name: str
    argv: tuple[str, ...]
    ready: str
    """What it logs when it serves."""
    files: tuple[tuple[str, str], ...] = ()
    """What it reads, by name in the folder where it starts."""
    folders: tuple[str, ...] = ()
    """Where it writes."""


@dataclass(frozen=True)
class Place:
    """Where services run."""

    folder: Path
    """A folder for each service comes into it, with its configuration, its state and its log."""
    namespace: str = ""
    """The network namespace; empty for that of the machine itself."""
    env: Mapping[str, str] | None = None

    def of(self, service: Service) -> Path:
        return self.folder / service.name


@dataclass(frozen=True)
class Waiting:
    """How time goes by; tests have a quicker one."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def start_service(service: Service, place: Place, *, waiting: Waiting | None = None) -> int:
    """Start a service and wait until it serves; its process id. When it does not, its last words are told."""
    folder = place.of(service)
    for each in (folder, *(folder / name for name in service.folders)):
        make_folder(each)
    for name, text in service.files:
        save_file(folder / name, text.encode(), mode=0o600)
    log = folder / "log"
    seen = log.stat().st_size if log.exists() else 0
    argv = [*inside(place.namespace), *service.argv]
    pid = start(argv, log=log, circumstances=Circumstances(cwd=folder, env=place.env))
    _wait_until_ready(service, pid, log, seen, waiting or Waiting())
    return pid


def inside(namespace: str) -> list[str]:
    """What comes before a command that runs in a network namespace."""
    return ["ip", "netns", "exec", namespace] if namespace else []


def _wait_until_ready(service: Service, pid: int, log: Path, seen: int, waiting: Waiting) -> None:
    deadline = waiting.now() + PATIENCE_S
    pause_s = 0.01
    while True:
        said = log.read_bytes()[seen:].decode("utf-8", "replace")
        if service.ready in said:
            return
        if not _is_alive(pid):
            raise _failed(service, "ended", said)
        if waiting.now() > deadline:
            os.kill(pid, 9)
            raise _failed(service, f"did not serve within {PATIENCE_S:g} s", said)
        waiting.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.25)


def _is_alive(pid: int) -> bool:
    """Whether a child of ours still runs; what is left of it is taken away."""
    try:
        ended, _ = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return False
    return ended == 0


def _failed(service: Service, what: str, said: str) -> ExternalError:
    last = "\n".join(f"    {line}" for line in said[-_LAST_BYTES:].strip().splitlines()[-8:])
    return ExternalError(
        f"the lab's {service.name} {what}" + (f"; it said last:\n{last}" if last else ""),
        hint="another program may use its address and port, or the lab is already up",
    )
