# SPDX-License-Identifier: Apache-2.0
"""Programs that take long are heard while they run, and end when nobody waits for them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.node.following import follow
from tests.component.test_run import is_alive


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_lines_are_heard_in_order_by_who_asked() -> None:
    heard: list[str] = []

    async def go() -> None:
        await follow(python("import sys; print('a'); print('b', file=sys.stderr)"), heard.append, 60)

    asyncio.run(go())
    assert sorted(heard) == ["a", "b"]


def test_a_failure_carries_the_last_words_and_the_command_of_the_program_itself() -> None:
    command = python("print('the disk is on fire'); raise SystemExit(3)")
    with pytest.raises(ExternalError) as caught:
        asyncio.run(follow(command, print, 60))
    name = Path(sys.executable).name
    assert caught.value.message == f"{name} failed with status 3; it said last:\n    the disk is on fire"
    assert caught.value.hint.startswith(f"the command was: {sys.executable} -c")


def test_a_silent_failure_has_no_last_words() -> None:
    with pytest.raises(ExternalError, match=r"^false failed with status 1$"):
        asyncio.run(follow(["false"], print, 60))


def test_a_missing_program_and_one_that_hangs() -> None:
    with pytest.raises(ExternalError, match="the program no-such-program is not there"):
        asyncio.run(follow(["no-such-program"], print, 60))
    with pytest.raises(ExternalError, match=r"^sleep 60 did not end within 0.2 s$"):
        asyncio.run(follow(["sleep", "60"], print, 0.2))


SILENT = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SILENT}"


@pytest.mark.parametrize("code", [SILENT, STUBBORN], ids=["silent", "stubborn"])
def test_a_program_that_nobody_waits_for_is_ended_even_if_it_says_nothing(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.node.following._PATIENCE_S", 0.3)
    pids: list[int] = []

    async def go() -> None:
        begun = asyncio.Event()

        def hear(line: str) -> None:
            pids.append(int(line))
            begun.set()

        task = asyncio.create_task(follow(python(code), hear, 600))
        await asyncio.wait_for(begun.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert not is_alive(pids[0])


def test_one_that_is_cancelled_before_it_said_anything_is_ended(tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    async def go() -> None:
        task = asyncio.create_task(follow(["sh", "-c", f"sleep 5; touch {mark}"], print, 600))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert not mark.exists()
