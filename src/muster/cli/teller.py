# SPDX-License-Identifier: Apache-2.0
"""Tells the story of an installation: lines for people or programs, and a picture on a terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

import click

from muster.cli import log
from muster.client.telling import Line
from muster.client.view import Extent


class Teller:
    """Where the story is told; on a terminal, the picture stays below the lines."""

    def __init__(self, stream: TextIO | None, *, as_json: bool) -> None:
        self._stream, self._as_json = stream, as_json
        self._picture: list[str] = []

    def tell(self, line: Line) -> None:
        """One more line."""
        if self._as_json:
            log.note("%s", line.text)
            body = {"kind": line.kind, "level": "warning" if line.is_warning else "info", **line.facts}
            print_json({**body, "message": line.text})
        else:
            (log.warn if line.is_warning else log.say)("%s", line.text)

    def show(self, render: Callable[[Extent], list[str]]) -> None:
        """The picture of now, in the place of that of before."""
        if self._stream is None:
            return
        size = shutil.get_terminal_size()
        lines = render(Extent(size.columns, size.lines))
        self._write(self._erase() + "".join(f"{line}\n" for line in lines))
        self._picture = lines

    def _erase(self) -> str:
        return f"\x1b[{len(self._picture)}A\x1b[J" if self._picture else ""

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Whoever else writes to the terminal does it within this."""
        self._write(self._erase())
        try:
            yield
        finally:
            self._write("".join(f"{line}\n" for line in self._picture))

    def close(self) -> None:
        """Take the picture away."""
        self._write(self._erase())
        self._picture = []

    def _write(self, text: str) -> None:
        if self._stream is None or not text:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None  # Nobody looks any more; the wait goes on.


@contextmanager
def open_teller(*, as_json: bool) -> Iterator[Teller]:
    """A teller, whose picture is gone at the end."""
    is_seen = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not log.is_quiet()
    teller = Teller(sys.stderr if is_seen else None, as_json=as_json)
    log.make_way(teller.aside)
    try:
        yield teller
    finally:
        teller.close()


def print_json(body: dict[str, Any]) -> None:
    """One object in one line, with the time."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    click.echo(json.dumps({"time": now, **body}, ensure_ascii=False))
