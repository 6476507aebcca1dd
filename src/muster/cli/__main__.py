# SPDX-License-Identifier: Apache-2.0
"""Where the process starts and ends: runs a verb, shows what went wrong, and says it by exit status."""

from __future__ import annotations

import os
import signal

# Before all else, because what follows takes a while: who changes their mind meanwhile gets no traceback.
signal.signal(signal.SIGINT, lambda _signal, _frame: os._exit(130))
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # bin/muster holds it back until here.

import errno
import io
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from muster.cli import log
from muster.cli.app import muster
from muster.errors import ExitStatus, ExternalError, Interrupted, MusterError


class _Stop(BaseException):
    """A signal. It comes up anywhere, also where others catch exceptions: logging while it writes a line (all
    that are an Exception), click while it asks something (KeyboardInterrupt)."""


def main() -> NoReturn:
    """The `muster` command."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _on_interrupt)
    _open_streams()
    status = run(sys.argv[1:])
    log.note("exit status %d", status)
    sys.exit(status)


def _open_streams() -> None:
    """Output that nobody reads, or a terminal that cannot show a character, is no reason to fail."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for all of the run
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run(arguments: list[str]) -> ExitStatus:
    """Run a command line and give its exit status."""
    try:
        log.start(arguments)
        result = muster.main(args=arguments, prog_name="muster", standalone_mode=False)
        sys.stdout.flush()
        return ExitStatus(result) if isinstance(result, int) else ExitStatus.OK
    except click.ClickException as error:
        return _usage(error)
    except (_Stop, KeyboardInterrupt, click.Abort):
        return _failed(Interrupted())
    except MusterError as error:
        return _failed(error)
    except BrokenPipeError:
        # Whoever read our output has enough of it; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.FAILED
    except OSError as error:
        if error.errno != errno.ENOSPC:
            return _bug(error, arguments)
        return _failed(ExternalError("cannot write the output: no space left", hint="free some space there"))
    except Exception as error:  # noqa: BLE001 - the edge: anything else is a bug of ours
        return _bug(error, arguments)


def _usage(error: click.ClickException) -> ExitStatus:
    context = error.ctx if isinstance(error, click.UsageError) else None
    print(f"muster: {error.format_message()}", file=sys.stderr)
    if context is not None:
        print(f"hint: see `{context.command_path} --help`", file=sys.stderr)
    return ExitStatus.USAGE


def _failed(error: MusterError) -> ExitStatus:
    try:
        log.failure(error)
    except OSError:
        print(f"muster: {error.message}", file=sys.stderr)
    return error.status


def _bug(error: Exception, arguments: list[str]) -> ExitStatus:
    from muster.cli.crash import save_crash_file

    path = save_crash_file(error, arguments, log.directory())
    print(f"muster: this is a bug in Muster, not in your files: {type(error).__name__}", file=sys.stderr)
    print(f"A crash report, with secrets removed, was saved as {path}", file=sys.stderr)
    print("Please look through it and attach it to an issue; CONTRIBUTING.md says how", file=sys.stderr)
    return ExitStatus.BUG


def _on_interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise _Stop


if __name__ == "__main__":
    main()
