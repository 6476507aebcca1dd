# SPDX-License-Identifier: Apache-2.0
"""Where messages go: short ones to the terminal, all of them to the log file of the site."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from muster.cli.build import build_words
from muster.errors import ConfigError, MusterError, cannot
from muster.redact import printable, redact, redact_arguments

if TYPE_CHECKING:
    from muster.model.problem import Problem

LOG_FILE: Final = ".openshift_install.log"
LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "trace": logging.DEBUG,
    "warning": logging.WARNING,
    "fatal": logging.CRITICAL,
}
AUDIT: Final = "muster.audit"
_AUDIT_BYTES: Final = 10 << 20
_AUDIT_FILES: Final = 5
_logger: Final = logging.getLogger("muster")


class _Redacting(logging.Formatter):
    """Formats a record and takes the secrets out of it."""

    def __init__(self, *, dated: bool) -> None:
        super().__init__()
        self._dated = dated

    def format(self, record: logging.LogRecord) -> str:
        level = record.levelname.lower()
        message = redact(record.getMessage())
        if record.name == AUDIT and not self._dated:
            return message  # A line of JSON, with a time of its own.
        if record.exc_info and record.levelno >= logging.ERROR:
            message = f"{message}\n{redact(self.formatException(record.exc_info))}"
        if self._dated:
            now = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds")
            return f'time="{now}" level={level} msg={json.dumps(message, ensure_ascii=False)}'
        return "\n".join(f"{record.levelname:<7} {line}" for line in message.splitlines())


class _Terminal(logging.StreamHandler[TextIO]):
    """Where people read; a line that is being redrawn there steps aside for a message.

    It has its own threshold, because audit records are written at every log level.
    """

    threshold = logging.INFO

    def filter(self, record: logging.LogRecord) -> bool:
        is_wanted = record.name == AUDIT or record.levelno >= self.threshold
        return is_wanted and bool(super().filter(record))

    def emit(self, record: logging.LogRecord) -> None:
        with _state.aside():
            super().emit(record)


class _LogFile(logging.StreamHandler[TextIO]):
    """A log that cannot be written any more, because the disk is full, is given up without a word."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002 - the name is logging's
        _logger.removeHandler(self)


class _State:
    """What one run of the program knows about its messages."""

    arguments: Sequence[str] = ()
    as_json = False
    directory: Path | None = None
    level = logging.INFO
    aside: Callable[[], AbstractContextManager[None]] = staticmethod(nullcontext)


_state = _State()


def start(arguments: Sequence[str]) -> None:
    """Begin a run: messages go to the terminal until a verb names the site's directory."""
    _state.arguments, _state.as_json, _state.directory = arguments, False, None
    _state.level, _state.aside = logging.INFO, nullcontext
    _logger.handlers.clear()
    _logger.setLevel(logging.DEBUG)
    _logger.propagate = False
    terminal = _Terminal(sys.stderr)
    terminal.setFormatter(_Redacting(dated=False))
    _logger.addHandler(terminal)


def configure(level: str, site: Path | None, *, as_json: bool) -> None:
    """Set the terminal's level, and keep a log in the site's directory when there is one."""
    _state.as_json, _state.directory, _state.level = as_json, site, LEVELS[level]
    for handler in _logger.handlers:
        if isinstance(handler, _Terminal):
            handler.threshold = LEVELS[level]
    if site is not None:
        _open_file(site / LOG_FILE)
    _logger.debug("muster %s", " ".join(redact_arguments(_state.arguments)))
    _logger.debug("version %s", build_words())


def _open_file(path: Path) -> None:
    """A log that cannot be written is no reason to fail: a check of a read-only directory is fine."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        stream = os.fdopen(os.open(path, flags, 0o600), "a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        _logger.debug("no log file: cannot write %s: %s", path, error.strerror)
        return
    handler = _LogFile(stream)
    handler.setLevel(logging.DEBUG)
    handler.setFormatter(_Redacting(dated=True))
    _logger.addHandler(handler)


def open_audit_log(path: Path) -> None:
    """Write the audit log to a file, too; when it is full, it becomes an older one."""
    from logging.handlers import RotatingFileHandler

    class AuditFile(RotatingFileHandler):
        warned: frozenset[str] = frozenset()

        def _open(self) -> Any:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.fdopen(os.open(path, flags, 0o600), "a", encoding="utf-8")

        def doRollover(self) -> None:
            """Rotate the files. After a failure, append to the current one, and rotate 10 MiB later."""
            try:
                super().doRollover()
                self.maxBytes = _AUDIT_BYTES
            except OSError as error:
                self._warn_once("rotate", error, "it grows until its directory can be written")
                self.stream = self._open()
                self.maxBytes = os.fstat(self.stream.fileno()).st_size + _AUDIT_BYTES

        def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002 - the name is logging's
            """A full disk must not stop the service; the terminal has every record."""
            self._warn_once("write", sys.exc_info()[1], "records that are missing in it are on stderr")

        def _warn_once(self, verb: str, error: BaseException | None, result: str) -> None:
            if verb not in self.warned:
                self.warned |= {verb}
                reason = getattr(error, "strerror", None) or error
                warn("cannot %s the audit log %s: %s; %s", verb, path, reason, result)

    try:
        handler = AuditFile(path, maxBytes=_AUDIT_BYTES, backupCount=_AUDIT_FILES, encoding="utf-8")
    except OSError as error:
        raise cannot("write", path, error) from error
    handler.setFormatter(_Redacting(dated=False))
    logging.getLogger(AUDIT).addHandler(handler)


def note(message: str, *values: object) -> None:
    """Remember what was found or done: in the log file, and on the terminal at level debug."""
    _logger.debug(message, *values)


def say(message: str, *values: object) -> None:
    """Tell something to people, and to the log."""
    _logger.info(message, *values)


def warn(message: str, *values: object) -> None:
    """Tell the user something that is no reason to stop."""
    _logger.warning(message, *values)


def note_problems(problems: Iterable[Problem]) -> None:
    """Remember what is wrong with a site, a line each."""
    for each in problems:
        note("%s: %s %s: %s", each.place, each.severity, each.rule.id, each.message)


def is_quiet() -> bool:
    """Whether nobody wants to see how far we are: a script reads, or only problems are asked for."""
    return _state.as_json or _state.level > logging.INFO


def make_way(aside: Callable[[], AbstractContextManager[None]]) -> None:
    """Have messages to the terminal written within this context."""
    _state.aside = aside


def directory() -> Path | None:
    """The directory of the site that this run works on."""
    return _state.directory


def failure(error: MusterError) -> None:
    """Tell the user why the run failed."""
    message, hint = printable(redact(error.message)), printable(redact(error.hint))
    if _state.as_json and not isinstance(error, ConfigError):
        click.echo(json.dumps({"error": {"message": message, "hint": hint}}, indent=2, ensure_ascii=False))
    _logger.debug("failed: %s", message)
    click.echo(f"muster: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
