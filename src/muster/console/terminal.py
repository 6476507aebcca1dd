# SPDX-License-Identifier: Apache-2.0
"""Textual's way to a terminal, made quiet on serial lines and while nothing happens.

What Textual asks of terminals that are windows is not asked here: an old one would show the questions. Keys
are waited for, and not polled.
"""

from __future__ import annotations

import os
import re
import select
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Any, Final

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from muster.console.kinds import settle_size

if TYPE_CHECKING:
    from textual.app import App

_ESCAPE_S: Final = 0.15
"""A little longer than an Esc may be the beginning of another key."""
_PIECE: Final = 4096
_POINTER: Final = "\x1b]22;"
_BLANK_END: Final = re.compile(
    r"(\x1b\[\d+;1H(?:\x1b\[(?:1;)?3\dm)?[^\x1b\r\n]*?) {4,}(\x1b\[0m)?(?=\n|\x1b\[1;1H|\Z)"
)
"""A whole row that has blanks at its end, and no colour behind them."""
_ERASED: Final = "\\1\\2\x1b[K"


def shorten(data: str) -> str:
    """What is drawn, with the ends of rows erased instead of filled with blanks: serial lines are slow."""
    return _BLANK_END.sub(_ERASED, data)


class ConsoleDriver(LinuxDriver):
    """Draws and hears on any terminal, and does nothing while nothing happens."""

    def __init__(self, app: App[Any], **more: Any) -> None:
        super().__init__(app, **{**more, "mouse": False})
        self._wake_read, self._wake_write = os.pipe()
        self._drawn = ""

    def _get_terminal_size(self) -> tuple[int, int]:
        return settle_size(self.fileno)

    def _request_terminal_sync_mode_support(self) -> None:
        """Nothing is asked."""

    def _query_in_band_window_resize(self) -> None:
        """Nothing is asked."""

    def _enable_bracketed_paste(self) -> None:
        """Nothing is asked."""

    def write(self, data: str) -> None:
        """Draw; not the same twice, and no shape of a mouse pointer, which such terminals do not know."""
        if data != self._drawn and not data.startswith(_POINTER):
            self._drawn = data
            super().write(shorten(data))

    def forget(self) -> None:
        """The terminal may not show any more what was drawn."""
        self._drawn = ""

    def disable_input(self) -> None:
        if self._key_thread is not None and self._key_thread.is_alive():
            os.write(self._wake_write, b".")
        super().disable_input()

    def close(self) -> None:
        super().close()
        for descriptor in (self._wake_read, self._wake_write):
            os.close(descriptor)

    def run_input_thread(self) -> None:
        """Wait for keys; only after an Esc time matters."""
        parser, decode = XTermParser(self._debug), getincrementaldecoder("utf-8")("replace").decode
        wait_s: float | None = None
        while True:
            ready, _, _ = select.select([self.fileno, self._wake_read], [], [], wait_s)
            if self._wake_read in ready:
                return
            wait_s = None
            if ready:
                data = _read(self.fileno)
                if not data:  # The line was hung up.
                    self._app.call_later(self._app.exit)
                    return
                for event in parser.feed(decode(data)):
                    self.process_message(event)
                wait_s = _ESCAPE_S
            for event in parser.tick():
                self.process_message(event)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _PIECE)
    except OSError:
        return b""
