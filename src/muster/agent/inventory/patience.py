# SPDX-License-Identifier: Apache-2.0
"""Waiting for something only so long, even if it cannot be ended: a program that hangs in the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from muster.machine import Machine
from muster.patience import finish_within
from muster.run import LATE, Argument, Said

_GRACE_S: Final = 1.0


async def ask_within(machine: Machine, argv: Sequence[Argument], deadline_s: float) -> Said:
    """What a program that reads disks says; it may be one that cannot be killed while it waits for one."""
    try:
        return await finish_within(machine.ask(argv, deadline_s=deadline_s), deadline_s + _GRACE_S)
    except TimeoutError:
        return Said(LATE, "", f"{argv[0]} did not end within {deadline_s:g} s, and cannot be ended")
