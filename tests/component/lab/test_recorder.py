# SPDX-License-Identifier: Apache-2.0
"""The recorder writes down what machines say; here a few sockets stand for a machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.lab.plan import LabPlan
from muster.lab.qemu import EVENT_SOCKET, QEMU_LOG, REPORT_SOCKET, SERIAL_RAW, SERIAL_SOCKET
from muster.lab.recording import attach, follow, note, open_console
from muster.lab.store import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    folder = tmp_path / "labs" / "t1"
    (folder / "machines" / "a").mkdir(parents=True)
    return Lab(folder, LabPlan("t1", "", "amd64", "", (), (), ()))


@pytest.fixture
def machine(lab: Lab) -> Iterator[dict[str, socket.socket]]:
    """The sockets that QEMU would listen on."""
    found = {}
    here = Path.cwd()
    os.chdir(lab.machine_folder("a"))
    for name in (SERIAL_SOCKET, REPORT_SOCKET, EVENT_SOCKET):
        found[name] = socket.socket(socket.AF_UNIX)
        found[name].bind(name)
        found[name].listen()
        found[name].settimeout(10)
    os.chdir(here)
    yield found
    for each in found.values():
        each.close()


@pytest.fixture
def recorder(lab: Lab, tmp_path: Path) -> Iterator[None]:
    yield from record(lab, tmp_path)


def record(lab: Lab, tmp_path: Path) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as ready:
        place = f"/tmp/muster-test-{os.getpid()}-{time.monotonic_ns()}"
        ready.bind(place)
        ready.listen()
        ready.settimeout(10)
        process = subprocess.Popen([sys.executable, "-m", "muster.lab.recorder", lab.folder, place])
        ready.accept()[0].close()
        Path(place).unlink()
    yield
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


def take(events: Iterator[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(event for event in events if event["kind"] == kind)


def test_what_a_machine_says(lab: Lab, machine: dict[str, socket.socket], recorder: None) -> None:
    serial, report, events = (
        machine[name].accept()[0] for name in (SERIAL_SOCKET, REPORT_SOCKET, EVENT_SOCKET)
    )
    heard = follow(lab, time.monotonic() + 20)
    fault = "qemu-system-x86_64: physmem.c:2671: Assertion `section_index' failed."
    (lab.machine_folder("a") / QEMU_LOG).write_text(f"warning: something\n{fault}\n")
    with serial, report, events:
        serial.sendall(b"\x1b[2Jhello\r\nlog")
        assert take(heard, "serial")["text"] == "hello"
        serial.sendall(b"in: ")
        assert take(heard, "serial")["text"] == "login:", "a prompt has no end"
        report.sendall(b'{"state": "running"}\nnonsense\n')
        assert take(heard, "report")["report"] == {"state": "running"}
        assert "nonsense" in take(heard, "note")["text"]
        events.sendall(b'{"QMP": {}}\n{"event": "RESET", "data": {"guest": true}}\n{"event": "RTC_CHANGE"}\n')
        assert take(heard, "qmp")["event"] == "RESET"
        note(lab, "a", "fault", fault="link:a", broken=True, how="by hand")
        assert take(heard, "fault")["fault"] == "link:a"
        (lab.machine_folder("a") / SERIAL_RAW).write_bytes(b"before")
        with open_console(lab, "a") as console:
            console.settimeout(10)
            assert console.recv(100) == b"before"
            console.sendall(b"typed")
            serial.settimeout(10)
            assert serial.recv(100) == b"typed"
            serial.sendall(b"answer")
            assert console.recv(100) == b"answer"
    power = take(heard, "power")
    assert (power["state"], power["words"]) == ("off", fault)
    assert "Z hello\n" in (lab.machine_folder("a") / "serial.log").read_text()
    assert json.loads((lab.machine_folder("a") / "reports.jsonl").read_text()) == {"state": "running"}


def test_what_was_said_while_no_recorder_was_there(
    lab: Lab, machine: dict[str, socket.socket], tmp_path: Path
) -> None:
    folder = lab.machine_folder("a")
    (folder / SERIAL_RAW).write_bytes(b"one\ntwo\nthree\n")
    (folder / "serial.seen").write_text("4")
    running = record(lab, tmp_path)
    next(running)
    texts = [event["text"] for event in read_some(lab, 3)]
    assert texts == ["what follows was said while no recorder was there", "two", "three"]
    attach(lab, "a")  # It listens already, and does not mind.
    assert list(running) == []


def read_some(lab: Lab, count: int) -> Iterator[dict[str, Any]]:
    for number, event in enumerate(follow(lab, time.monotonic() + 10), 1):
        yield event
        if number == count:
            return
