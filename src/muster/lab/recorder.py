# SPDX-License-Identifier: Apache-2.0
"""The recorder of a lab: a process that writes down, with the time, what its machines say.

    python -m muster.lab.recorder FOLDER

It reads serial lines, health reports and QEMU's events, and serves a socket where commands follow all that
happened (`follow`), sit at a serial console (`console`), have machines listened to (`attach`) or leave a note
(`note`). Machines go on without it; a command that needs it starts it again, and what the machines said
meanwhile is taken from QEMU's own log of the serial line.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from muster.lab.lines import LineSplitter
from muster.lab.qemu import EVENT_SOCKET, QEMU_LOG, REPORT_SOCKET, SERIAL_RAW, SERIAL_SOCKET
from muster.lab.store import EVENTS_FILE, RECORDER_SOCKET

SERIAL_LOG: Final = "serial.log"
REPORTS_FILE: Final = "reports.jsonl"
_CHUNK: Final = 1 << 16
_IDLE_S: Final = 0.5
"""A line without an end, such as a prompt, is taken for one after so long a silence."""
_FAULT: Final = re.compile(r"Assertion .* failed|qemu: fatal|Segmentation fault")
_KEPT_EVENTS: Final = frozenset(
    (
        "RESET",
        "SHUTDOWN",
        "STOP",
        "RESUME",
        "POWERDOWN",
        "GUEST_PANICKED",
        "BLOCK_IO_ERROR",
        "DEVICE_TRAY_MOVED",
    )
)


class Recorder:
    """What the process knows: the log, who follows it, and the consoles of the machines."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._log = (folder / EVENTS_FILE).open("ab", buffering=0)
        self._followers: set[asyncio.StreamWriter] = set()
        self._machines: dict[str, _Listener] = {}

    def record(self, machine: str, kind: str, **values: Any) -> None:
        """Write down what happened, and tell those who follow."""
        body = {"at": round(self._clock(), 3), "machine": machine, "kind": kind, **values}
        line = json.dumps(body, ensure_ascii=False).encode() + b"\n"
        self._log.write(line)
        for writer in tuple(self._followers):
            writer.write(line)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, which says in its first line what it wants."""
        try:
            request = json.loads(await reader.readline() or b"{}")
            match request.get("do"):
                case "follow":
                    await self._follow(reader, writer)
                case "console":
                    await self._console(request["machine"], reader, writer)
                case "attach":
                    await self.attach(request["machine"])
                    writer.write(b"{}\n")
                case "note":
                    self.record(request["machine"], request["kind"], **request["values"])
                    writer.write(b"{}\n")
                case _:
                    pass
            await writer.drain()
        except (OSError, ValueError, KeyError):
            pass  # A client that left, or spoke nonsense, is no reason to stop.
        finally:
            self._followers.discard(writer)
            writer.close()

    async def _follow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Nothing is recorded between reading the past and hearing the present: there is no `await` between.
        writer.write((self._folder / EVENTS_FILE).read_bytes())
        self._followers.add(writer)
        await reader.read()  # Until the client leaves.

    async def _console(
        self, machine: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        listener = self._machines.get(machine)
        if listener is None:
            return
        writer.write(listener.tail())
        listener.consoles.add(writer)
        try:
            while data := await reader.read(_CHUNK):
                listener.type(data)
        finally:
            listener.consoles.discard(writer)

    async def attach(self, machine: str) -> None:
        """Listen to a machine that was started, unless we do so already."""
        before = self._machines.get(machine)
        if before is not None and before.is_listening:
            return
        listener = _Listener(self, self._folder / "machines" / machine)
        with contextlib.suppress(OSError):
            await listener.start()
            self._machines[machine] = listener

    async def attach_all(self) -> None:
        """Listen to all machines that run."""
        for path in sorted((self._folder / "machines").iterdir()):
            await self.attach(path.name)


class _Listener:
    """All that is heard of one machine while its QEMU runs."""

    def __init__(self, recorder: Recorder, folder: Path) -> None:
        self._recorder = recorder
        self._folder = folder
        self._name = folder.name
        self._lines = LineSplitter()
        self._idle: asyncio.TimerHandle | None = None
        self._serial: asyncio.StreamWriter | None = None
        self._open: list[asyncio.StreamWriter] = []
        """A connection that nobody refers to would be closed."""
        self._tasks: list[asyncio.Task[None]] = []
        self.consoles: set[asyncio.StreamWriter] = set()

    @property
    def is_listening(self) -> bool:
        return any(not task.done() for task in self._tasks)

    async def start(self) -> None:
        reader, self._serial = await self._connect(SERIAL_SOCKET)
        self._catch_up()
        reports, _ = await self._connect(REPORT_SOCKET)
        events, writer = await self._connect(EVENT_SOCKET)
        writer.write(b'{"execute": "qmp_capabilities"}\n')
        self._tasks = [
            asyncio.create_task(self._read_serial(reader)),
            asyncio.create_task(self._read_reports(reports)),
            asyncio.create_task(self._read_events(events)),
        ]

    async def _connect(self, name: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        folder = os.open(self._folder, os.O_PATH | os.O_DIRECTORY)
        try:
            reader, writer = await asyncio.open_unix_connection(
                f"/proc/self/fd/{folder}/{name}", limit=1 << 24
            )
        finally:
            os.close(folder)
        self._open.append(writer)
        return reader, writer

    def _catch_up(self) -> None:
        """Lines that nobody wrote down because no recorder was there; their time is that of now."""
        raw = self._folder / SERIAL_RAW
        seen = _load_number(self._folder / "serial.seen")
        with contextlib.suppress(FileNotFoundError), raw.open("rb") as file:
            file.seek(seen)
            missed = file.read()
            if missed:
                self._recorder.record(
                    self._name, "note", text="what follows was said while no recorder was there"
                )
                self._hear(missed)

    def tail(self) -> bytes:
        """The last that the machine said, for somebody who sits down at its console."""
        try:
            with (self._folder / SERIAL_RAW).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
                return file.read()
        except FileNotFoundError:
            return b""

    def type(self, data: bytes) -> None:
        """What somebody types at the console."""
        if self._serial is not None:
            self._serial.write(data)

    async def _read_serial(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_CHUNK):
                self._hear(data)
                for console in tuple(self.consoles):
                    console.write(data)
        self._flush()
        self._recorder.record(self._name, "power", state="off", words=self._emulator_words())
        for console in tuple(self.consoles):
            console.close()

    def _emulator_words(self) -> str:
        """What QEMU said when it ended by a fault of its own."""
        try:
            said = (self._folder / QEMU_LOG).read_text("utf-8", "replace")
        except OSError:
            return ""
        return next((line for line in reversed(said.splitlines()) if _FAULT.search(line)), "")

    def _hear(self, data: bytes) -> None:
        if self._idle is not None:
            self._idle.cancel()
        for line in self._lines.feed(data):
            self._note_line(line)
        seen = _load_number(self._folder / "serial.seen") + len(data)
        (self._folder / "serial.seen").write_text(str(seen), "ascii")
        self._idle = asyncio.get_running_loop().call_later(_IDLE_S, self._flush)

    def _flush(self) -> None:
        for line in self._lines.flush():
            self._note_line(line)

    def _note_line(self, line: str) -> None:
        self._recorder.record(self._name, "serial", text=line)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        with (self._folder / SERIAL_LOG).open("a", encoding="utf-8") as file:
            file.write(f"{stamp}Z {line}\n")

    async def _read_reports(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := await reader.readline():
                try:
                    report = json.loads(line)
                except ValueError:
                    self._recorder.record(self._name, "note", text=f"not a report: {line[:200]!r}")
                    continue
                self._recorder.record(self._name, "report", report=report)
                with (self._folder / REPORTS_FILE).open("ab") as file:
                    file.write(line)

    async def _read_events(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := await reader.readline():
                body = json.loads(line)
                if body.get("event") in _KEPT_EVENTS:
                    self._recorder.record(self._name, "qmp", event=body["event"], data=body.get("data", {}))


def _load_number(path: Path) -> int:
    try:
        return int(path.read_text("ascii") or 0)
    except (FileNotFoundError, ValueError):
        return 0


async def record_lab(ready: Path | None) -> None:
    """Record the lab of this folder until we are asked to stop."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    recorder = Recorder(Path())
    server = await asyncio.start_unix_server(recorder.serve, RECORDER_SOCKET)
    await recorder.attach_all()
    if ready is not None:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_unix_connection(str(ready))
            writer.close()
    await stop.wait()
    server.close()


def main(arguments: list[str]) -> None:
    """Record the lab in a folder; a second argument is a socket where somebody waits until we are ready."""
    os.chdir(arguments[0])
    Path(RECORDER_SOCKET).unlink(missing_ok=True)
    asyncio.run(record_lab(Path(arguments[1]) if len(arguments) > 1 else None))


if __name__ == "__main__":
    main(sys.argv[1:])
