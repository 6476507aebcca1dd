# SPDX-License-Identifier: Apache-2.0
"""Talking to the recorder of a lab, which is started when it is not there: listen, leave notes, follow."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from muster.errors import ExternalError
from muster.lab.processes import find_process
from muster.lab.qmp import open_socket
from muster.lab.store import RECORDER_SOCKET, Lab, LabState
from muster.run import Circumstances, start

_START_S: Final = 20.0
_ANSWER_S: Final = 10.0
Event = dict[str, Any]


def ensure_recorder(lab: Lab, state: LabState) -> LabState:
    """Start the recorder unless it runs; the state then knows it."""
    if state.recorder is not None and state.recorder.is_alive:
        return state
    with tempfile.TemporaryDirectory(prefix="muster-") as folder:
        path = Path(folder) / "ready"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as ready:
            ready.bind(str(path))
            ready.listen(1)
            ready.settimeout(_START_S)
            pid = start(
                [sys.executable, "-m", "muster.lab.recorder", lab.folder.resolve(), path],
                log=lab.folder / "recorder.log",
                circumstances=Circumstances(env=state.environment),
            )
            changed = replace(state, recorder=find_process(pid))
            lab.save_state(changed)
            try:
                ready.accept()[0].close()
            except TimeoutError:
                raise ExternalError(
                    f"the recorder of the lab did not start within {_START_S:g} s",
                    hint=f"see {lab.folder / 'recorder.log'}",
                ) from None
    return changed


def attach(lab: Lab, machine: str) -> None:
    """Have the recorder listen to a machine that was started."""
    _ask(lab, {"do": "attach", "machine": machine})


def note(lab: Lab, machine: str, kind: str, **values: Any) -> None:
    """Leave a note in the log of the lab."""
    _ask(lab, {"do": "note", "machine": machine, "kind": kind, "values": values})


def _ask(lab: Lab, request: dict[str, Any]) -> None:
    with open_socket(lab.folder / RECORDER_SOCKET) as connection:
        connection.settimeout(_ANSWER_S)
        connection.sendall(json.dumps(request).encode() + b"\n")
        connection.makefile("rb").readline()


@contextlib.contextmanager
def open_console(lab: Lab, machine: str) -> Iterator[socket.socket]:
    """A connection to the serial line of a machine: bytes in both directions."""
    with open_socket(lab.folder / RECORDER_SOCKET) as connection:
        connection.sendall(json.dumps({"do": "console", "machine": machine}).encode() + b"\n")
        yield connection


def follow(lab: Lab, until: float) -> Iterator[Event]:
    """All that happened, then what happens, until a time of the monotonic clock."""
    with open_socket(lab.folder / RECORDER_SOCKET) as connection:
        connection.sendall(b'{"do": "follow"}\n')
        rest = b""
        while (left := until - time.monotonic()) > 0:
            connection.settimeout(left)
            try:
                data = connection.recv(1 << 16)
            except TimeoutError:
                return
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from (json.loads(line) for line in lines)


def load_events(lab: Lab) -> list[Event]:
    """All that happened so far."""
    try:
        text = lab.events_path.read_bytes()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.split(b"\n")[:-1]]
