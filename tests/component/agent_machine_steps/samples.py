# SPDX-License-Identifier: Apache-2.0
"""A step that does as its first argument says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from muster.agent.steps.outcome import BadArguments, Outcome
from muster.machine import Machine


async def run(machine: Machine, args: Sequence[str]) -> Outcome:
    match args[0]:
        case "bad":
            raise BadArguments("the argument\nis bad")
        case "bug":
            raise KeyError("a password: hunter2")
        case "several":
            raise ExceptionGroup("several", [ValueError("the first")])
        case "timeout":
            raise TimeoutError
        case "hang":
            await asyncio.Event().wait()
        case "stubborn":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ValueError("it broke while it was stopped") from None
        case _:
            pass
    return Outcome(f"{machine.root}: {args[1]}")
