# SPDX-License-Identifier: Apache-2.0
"""QEMU's machine protocol: a command, its answer; what else QEMU says meanwhile is left to the recorder."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from muster.errors import ExternalError, MusterError

_DEADLINE_S: Final = 30.0


class Refused(ExternalError):
    """QEMU understood a command and did not carry it out."""


class Monitor:
    """A connection to one machine's QEMU."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._reader = connection.makefile("rb")
        self._next()  # The greeting.
        self.execute("qmp_capabilities")

    def execute(self, command: str, /, **arguments: Any) -> Any:
        """Run a command and return its answer."""
        body: dict[str, Any] = {"execute": command}
        if arguments:
            body["arguments"] = {name.replace("_", "-"): value for name, value in arguments.items()}
        return self._ask(body)

    def execute_raw(self, command: str, arguments: dict[str, Any]) -> Any:
        """Run a command whose arguments have underscores in their names."""
        return self._ask({"execute": command, "arguments": arguments})

    def _ask(self, body: dict[str, Any]) -> Any:
        try:
            self._connection.sendall(json.dumps(body).encode() + b"\n")
            while True:
                answer = self._next()
                if "return" in answer:
                    return answer["return"]
                if "error" in answer:
                    reason = answer["error"].get("desc", "no reason given")
                    raise Refused(
                        f"QEMU refused {body['execute']}: {reason}", hint="see the machine's qemu.log"
                    )
        except OSError as error:
            raise _gone(error) from error

    def _next(self) -> dict[str, Any]:
        line = self._reader.readline()
        if not line:
            raise ConnectionResetError("QEMU ended")
        found = json.loads(line)
        if not isinstance(found, dict):
            raise ExternalError(
                "QEMU answers in a language that is not QMP", hint="see the machine's qemu.log"
            )
        return found


def _gone(error: OSError) -> MusterError:
    reason = (
        "no answer in time" if isinstance(error, TimeoutError) else (error.strerror or str(error)).lower()
    )
    return ExternalError(f"the machine's QEMU does not answer: {reason}", hint="see `muster lab status`")


@contextlib.contextmanager
def open_monitor(path: Path) -> Iterator[Monitor]:
    """Connect to the socket that QEMU listens on for commands."""
    with open_socket(path) as connection:
        connection.settimeout(_DEADLINE_S)
        try:
            monitor = Monitor(connection)
        except OSError as error:
            raise _gone(error) from error
        yield monitor


@contextlib.contextmanager
def open_socket(path: Path) -> Iterator[socket.socket]:
    """A connection to a Unix socket, however long its path is: the kernel takes only 107 bytes of one."""
    try:
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.connect(f"/proc/self/fd/{folder}/{path.name}")
            except BaseException:
                connection.close()
                raise
        finally:
            os.close(folder)
    except OSError as error:
        raise _gone(error) from error
    with connection:
        yield connection
