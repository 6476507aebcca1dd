# SPDX-License-Identifier: Apache-2.0
"""The only place that starts a program.

    run(["mksquashfs", tree, image], heard=show)     wait for it; its output is the result
    start(["qemu-system-x86_64", ...], log=path)     let it go on when we end
    await ask(["arping", ...], deadline_s=5)         ask it something beside other work

A program that is missing or fails is an `ExternalError` that carries what it said last; one that was asked
has an answer whatever happens, because somebody waits for it.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess  # noqa: TID251
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, NoReturn, Protocol

from muster.errors import ExternalError
from muster.frozen import dataclass

Argument = str | Path
_LAST_LINES: Final = 12
_PATIENCE_S: Final = 5.0


@dataclass(frozen=True)
class Circumstances:
    """Where and how long a program may run."""

    cwd: Path | None = None
    env: Mapping[str, str] | None = None
    """What it finds in its environment besides ours."""
    deadline_s: float | None = None


PLAIN: Final = Circumstances()


class Run(Protocol):
    """Something that runs a program: `run` below, or what stands in for it."""

    def __call__(
        self,
        argv: Sequence[Argument],
        *,
        feed: str = "",
        heard: Callable[[str], None] | None = None,
        circumstances: Circumstances = PLAIN,
    ) -> str: ...


def run(
    argv: Sequence[Argument],
    *,
    feed: str = "",
    heard: Callable[[str], None] | None = None,
    circumstances: Circumstances = PLAIN,
) -> str:
    """Run a program to its end and return what it printed; ``heard`` is told every line as it comes."""
    words = [os.fspath(each) for each in argv]
    lines: list[str] = []
    with _popen(words, circumstances, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with _ended_with_us(process), _killed_at(process, circumstances.deadline_s) as is_late:
            with contextlib.suppress(BrokenPipeError):  # It did not want to hear all of it.
                process.stdin.write(feed)
                process.stdin.close()
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                if heard is not None:
                    heard(lines[-1])
            status = process.wait()
    if is_late():
        raise ExternalError(
            f"{shlex.join(words)} did not end within {circumstances.deadline_s:g} s",
            hint="run it by hand to see what it waits for",
        )
    if status != 0:
        raise _failed(words, status, lines)
    return "\n".join(lines)


@dataclass(frozen=True)
class Said:
    """What a program that was asked has answered."""

    status: int
    """As shells have it: 124 when it took too long, 127 when there is no such program, 128 + a signal."""
    out: str
    err: str

    @property
    def is_ok(self) -> bool:
        """Whether it succeeded."""
        return self.status == 0

    @property
    def trouble(self) -> str:
        """What is to be told of a failure, in one line."""
        lines = (self.err or self.out).strip().splitlines()
        return lines[-1].strip() if lines else f"it ended with status {self.status}"


LATE: Final = 124
MISSING: Final = 127


async def ask(argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
    """Ask a program something; it is ended when it takes too long, or when nobody waits any more."""
    import asyncio

    words = [os.fspath(each) for each in argv]
    try:
        process = await asyncio.create_subprocess_exec(  # noqa: TID251
            *words,
            stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )
    except FileNotFoundError:
        return Said(MISSING, "", f"the program {words[0]} is not there")
    except OSError as error:
        return Said(MISSING, "", f"cannot run {words[0]}: {(error.strerror or str(error)).lower()}")
    try:
        async with asyncio.timeout(deadline_s):
            out, err = await process.communicate(feed.encode() if feed else None)
    except TimeoutError:
        return Said(LATE, "", f"{Path(words[0]).name} did not end within {deadline_s:g} s")
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            # One that hangs in the kernel, on a dead disk perhaps, does not even end then.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE_S):
                    await process.wait()
    assert process.returncode is not None
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Said(status, out.decode(errors="replace"), err.decode(errors="replace"))


def start(argv: Sequence[Argument], *, log: Path, circumstances: Circumstances = PLAIN) -> int:
    """Start a program that outlives us, in a session of its own; what it says goes to a file. Its pid."""
    words = [os.fspath(each) for each in argv]
    with log.open("ab") as file:
        process = _popen(words, circumstances, stdin=subprocess.DEVNULL, stdout=file, detached=True)
    process.returncode = 0  # Nobody here waits for it; Python need not warn of that.
    return process.pid


def find_program(name: str) -> Path | None:
    """Where a program is; those of the system's administrator are looked for, too."""
    path = os.environ.get("PATH", os.defpath)
    found = shutil.which(name, path=f"{path}:/usr/local/sbin:/usr/sbin:/sbin")
    return Path(found) if found else None


def _popen(
    words: Sequence[str],
    circumstances: Circumstances,
    *,
    stdin: int,
    stdout: int | IO[bytes],
    detached: bool = False,
) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            words,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=circumstances.cwd,
            env={**os.environ, **(circumstances.env or {})},
            start_new_session=detached,
            process_group=None if detached else 0,
        )
    except FileNotFoundError as error:
        raise ExternalError(f"the program {words[0]} is not there", hint=f"install {words[0]}") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ExternalError(f"cannot run {words[0]}: {reason}", hint="check that program") from error


@contextlib.contextmanager
def _ended_with_us(process: subprocess.Popen[str]) -> Iterator[None]:
    """When we are interrupted, a program and its children get a moment to clean up, then they are killed."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(_PATIENCE_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise


@contextlib.contextmanager
def _killed_at(process: subprocess.Popen[str], deadline_s: float | None) -> Iterator[Callable[[], bool]]:
    """End a program that takes too long; the function tells whether that happened."""
    if deadline_s is None:
        yield lambda: False
        return
    from threading import Timer

    late = []

    def end() -> None:
        late.append(time.monotonic())
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = Timer(deadline_s, end)
    timer.start()
    try:
        yield lambda: bool(late)
    finally:
        timer.cancel()


def _failed(words: Sequence[str], status: int, lines: Sequence[str]) -> ExternalError:
    what = f"ended by {signal.Signals(-status).name}" if status < 0 else f"failed with status {status}"
    last = "\n".join(f"    {line}" for line in deque(lines, _LAST_LINES))
    return ExternalError(
        f"{Path(words[0]).name} {what}" + (f"; it said last:\n{last}" if last else ""),
        hint=f"the command was: {shlex.join(words)}",
    )


def become(argv: Sequence[Argument]) -> NoReturn:
    """End as another program, which takes over our terminal and our exit status."""
    words = [os.fspath(each) for each in argv]
    try:
        os.execvp(words[0], words)  # noqa: S606
    except FileNotFoundError as error:
        raise ExternalError(f"the program {words[0]} is not there", hint=f"install {words[0]}") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ExternalError(f"cannot run {words[0]}: {reason}", hint="check that program") from error
