# SPDX-License-Identifier: Apache-2.0
"""Asynchronous work is cancelled by a signal, and leaves the process as it was."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from muster.cli.loop import run_async
from muster.errors import Interrupted, UserError


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_the_work(number: signal.Signals) -> None:
    put_down: list[str] = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.sleep(60)
        finally:
            put_down.append("as it should be")

    before = signal.getsignal(number)
    with pytest.raises(Interrupted):
        run_async(work)
    assert put_down == ["as it should be"]
    assert signal.getsignal(number) is before


def test_what_it_gives_or_raises_comes_through() -> None:
    async def answer() -> int:
        return 42

    async def fail() -> None:
        raise UserError("no")

    assert run_async(answer) == 42
    with pytest.raises(UserError, match="no"):
        run_async(fail)
