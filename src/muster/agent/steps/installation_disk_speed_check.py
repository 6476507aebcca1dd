# SPDX-License-Identifier: Apache-2.0
"""How long the disk takes to store something for good; what is on it stays as it is."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

import msgspec

from muster.agent.steps.outcome import BadArguments, Outcome, read, reply
from muster.machine import Machine
from muster.model.wire.reports import DiskSpeedCheckResponse
from muster.model.wire.steps import DiskSpeedCheckRequest
from muster.redact import printable
from muster.run import LATE, Said

FAILED: Final = 1
_WRITES: Final = 1024
_LONGEST_S: Final = 30.0
"""A disk that is so slow is known by then."""
_DEADLINE_S: Final = 480.0
_GRACE_S: Final = 5.0
_NS_IN_MS: Final = 1_000_000


class Found(msgspec.Struct, frozen=True):
    """What the program says that measures."""

    p99_ns: int = 0
    trouble: str = ""


async def run(machine: Machine, args: Sequence[str]) -> Outcome:
    """``{path}`` and a number of seconds → ``{path, io_sync_duration}``: 99 of 100 writes take no longer."""
    path = check_path(read(args, DiskSpeedCheckRequest).path)
    limit_s = parse_limit(args)
    device = machine.root / path.lstrip("/")
    program = (sys.executable, "-P", "-m", "muster.agent.steps.sync_writes")
    longest_s = min(_LONGEST_S, limit_s / 2)
    try:
        # A process that waits for a broken disk does not even end when it is killed.
        async with asyncio.timeout(limit_s + _GRACE_S):
            said = await machine.ask((*program, device, str(_WRITES), f"{longest_s:g}"), deadline_s=limit_s)
    except TimeoutError:
        said = Said(LATE, "", "")
    return judge(path, said, limit_s)


def check_path(path: str) -> str:
    """The path of a device, which begins with /dev/."""
    parts = PurePosixPath(path).parts
    if parts[:2] != ("/", "dev") or len(parts) < 3 or ".." in parts or not path.isprintable():
        raise BadArguments(f"{path[:100]!r} is not the path of a disk")
    return path


def parse_limit(args: Sequence[str]) -> float:
    """The second argument: within how many seconds there has to be an answer."""
    text = args[1] if len(args) > 1 else f"{_DEADLINE_S}"
    try:
        limit_s = float(text)
    except ValueError:
        limit_s = math.nan
    if not 0 < limit_s < math.inf:
        raise BadArguments(f"{text[:100]!r} is not a number of seconds")
    return min(limit_s, _DEADLINE_S)


def judge(path: str, said: Said, limit_s: float) -> Outcome:
    """What the program's answer means."""
    if said.status == LATE:
        return _failed(f"the disk {path} did not finish its writes within {limit_s:g} s")
    if not said.is_ok:
        return _failed(f"the disk {path} could not be measured: {printable(said.trouble)}")
    try:
        found = msgspec.json.decode(said.out, type=Found)
    except msgspec.DecodeError as error:
        return _failed(f"the disk {path} could not be measured: {error}")
    if found.trouble:
        return _failed(f"the disk {path} {found.trouble}")
    # Rounded up, so that what is slower than a limit does not look as if it were just within.
    return reply(DiskSpeedCheckResponse(path=path, io_sync_duration=-(-found.p99_ns // _NS_IN_MS)))


def _failed(sentence: str) -> Outcome:
    return Outcome(exit_code=FAILED, error=sentence)
