# SPDX-License-Identifier: Apache-2.0
"""A console on real terminals: some that can be drawn on, some that cannot."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from muster.console.terminal import shorten
from tests.component.console.stand import Stand

PATIENCE_S = 60.0
PROGRAM = """
import logging, os, sys
from pathlib import Path
# What Textual could do with these is not needed, so the machine OS does not have them.
for name in ("pygments", "markdown_it", "mdit_py_plugins", "linkify_it"):
    sys.modules[name] = None
{before}
from muster.cli.loop import run_async
from muster.console.journal import log_to_journal
from muster.console.running import Terminal, run_console
from muster.machine import ThisMachine
log_to_journal(logging.getLogger("muster"), Path({root!r}) / "dev/log")
terminal = Terminal(os.ttyname(0), os.environ, sys.stdout)
ended = run_async(lambda: run_console(terminal, lambda: None, ThisMachine(Path({root!r}))))
sys.stdout.write("ended with " + repr(ended))
"""
ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[=>]")


class Terminal:
    """Somebody before a terminal."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid, self.descriptor = pid, descriptor
        self.raw = b""

    def shows(self, words: str) -> None:
        """Read until something was written."""
        end = time.monotonic() + PATIENCE_S
        while words.encode() not in ESCAPES.sub(b"", self.raw):
            assert time.monotonic() < end, self.raw[-2000:]
            if select.select([self.descriptor], [], [], 0.2)[0]:
                self.raw += os.read(self.descriptor, 65536)

    def press(self, keys: bytes) -> None:
        self.raw = b""
        os.write(self.descriptor, keys)

    def status(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@contextmanager
def terminal(root: Path, kind: str, before: str = "") -> Iterator[Terminal]:
    program = PROGRAM.format(root=str(root), before=before)
    pid, descriptor = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-c", program], {"PATH": os.environ["PATH"], "TERM": kind})
    found = Terminal(pid, descriptor)
    try:
        yield found
    finally:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(descriptor)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Stand(tmp_path)
    return tmp_path


def test_a_serial_line_that_does_not_know_its_size(root: Path) -> None:
    with terminal(root, "vt220") as seen:
        seen.shows("? help  n network")
        seen.shows("m-0")
        assert termios.tcgetwinsize(seen.descriptor) == (24, 80)
        rows = [int(each) for each in re.findall(rb"\x1b\[(\d+);1H", seen.raw)]
        assert max(rows) == 24
        assert b"\x1b]" not in seen.raw
        assert b"$p" not in seen.raw
        for key, words in (
            (b"?", "draw the screen anew"),
            (b"q", "meets at"),
            (b"c", "not told of any check"),
        ):
            seen.press(key)
            seen.shows(words)
        seen.press(b"\x1b")
        seen.shows("meets at")
        seen.press(b"\x0c")
        seen.shows("meets at")
        seen.press(b"h")
        seen.shows("not told of any host")
        os.kill(seen.pid, signal.SIGTERM)
        seen.shows("ended with ''")
        assert seen.status() == 0


def test_who_came_over_the_network_can_leave(root: Path) -> None:
    with terminal(root, "xterm-256color") as seen:
        seen.shows("? help  n network")
        seen.press(b"\x03")
        seen.shows("ended with ''")


def test_function_keys_of_a_screen(root: Path) -> None:
    with terminal(root, "linux") as seen:
        seen.shows("? help  n network")
        seen.press(b"\x1b[[A")
        seen.shows("draw the screen anew")
        seen.press(b"\x1bOB\x1b[B\xff\xfe")
        seen.press(b"q")
        seen.shows("meets at")


def test_a_terminal_that_cannot_be_drawn_on(root: Path) -> None:
    with terminal(root, "dumb") as seen:
        seen.shows("m-0")
        seen.shows("192.0.2.10 (another host)")
        assert b"\x1b" not in seen.raw


def test_without_textual_there_is_plain_text(root: Path) -> None:
    with terminal(root, "vt220", 'sys.modules["textual"] = None') as seen:
        seen.shows("m-0")
        seen.shows("meets at")
        assert b"Traceback" not in seen.raw


def test_a_screen_that_cannot_be_drawn_is_plain_text_in_the_end(root: Path) -> None:
    broken = "import muster.console.pages as pages; pages.LinesView.render_line = lambda self, y: 1 / 0"
    with terminal(root, "vt220", broken) as seen:
        seen.shows("\n Muster")
        seen.shows("meets at")
        assert b"Traceback" not in seen.raw
        assert b"ZeroDivisionError" not in seen.raw


def test_ends_of_rows_are_erased_and_not_filled() -> None:
    assert shorten("\x1b[2;1Htext      \n\x1b[3;1H          ") == "\x1b[2;1Htext\x1b[K\n\x1b[3;1H\x1b[K"
    assert shorten("\x1b[2;1H\x1b[36mtext      \x1b[0m\n") == "\x1b[2;1H\x1b[36mtext\x1b[0m\x1b[K\n"
    behind = "\x1b[2;1H\x1b[7mtext      \x1b[0m\n"
    assert shorten(behind) == behind
    beside = "\x1b[2;5Htext      \n"
    assert shorten(beside) == beside
