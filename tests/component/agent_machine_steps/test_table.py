# SPDX-License-Identifier: Apache-2.0
"""A step always has an outcome."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from muster.agent.steps.outcome import Outcome
from muster.agent.steps.table import StepKind, run_step
from tests.component.agent_machine_steps import samples
from tests.component.agent_machine_steps.machines import RecordedMachine

MACHINE = RecordedMachine(Path("/nowhere"))


def play(*args: str, deadline_s: float = 60) -> Outcome:
    kinds = {"sample": StepKind(samples.__name__, deadline_s), "lost": StepKind("tests.no_such_module", 1)}
    return asyncio.run(run_step(MACHINE, args[0], args[1:], kinds))


def test_an_outcome_is_given_on() -> None:
    assert play("sample", "good", "well") == Outcome("/nowhere: well")


def test_no_such_step() -> None:
    assert play("execute", "rm") == Outcome(exit_code=-1, error="this agent knows no step 'execute'")
    assert asyncio.run(run_step(MACHINE, "execute", ())).exit_code == -1


def test_arguments_that_cannot_be_read(caplog: pytest.LogCaptureFixture) -> None:
    assert play("sample", "bad") == Outcome(exit_code=-1, error="the argument is bad")
    assert not caplog.records


def test_the_arguments_of_a_real_step() -> None:
    outcome = asyncio.run(run_step(MACHINE, "installation-disk-speed-check", ("{}",)))
    assert outcome.exit_code == -1
    assert "path" in outcome.error


@pytest.mark.parametrize(
    ("argument", "error"),
    [("bug", "'a password: ••••"), ("several", "the first"), ("timeout", "TimeoutError")],
)
def test_a_bug_is_logged_and_replied(argument: str, error: str, caplog: pytest.LogCaptureFixture) -> None:
    outcome = play("sample", argument)
    assert (outcome.exit_code, outcome.error) == (1, f"the step sample failed: {error}")
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("muster.agent.steps.table", logging.ERROR)
    assert record.exc_info is not None


def test_a_module_that_cannot_be_loaded(caplog: pytest.LogCaptureFixture) -> None:
    outcome = play("lost")
    assert outcome.exit_code == 1
    assert "No module named 'tests.no_such_module'" in outcome.error
    assert caplog.records


@pytest.mark.parametrize("argument", ["hang", "stubborn"])
def test_a_step_that_hangs(argument: str) -> None:
    outcome = play("sample", argument, deadline_s=0.01)
    assert outcome == Outcome(exit_code=124, error="the step sample did not end within 0.01 s")


def test_a_step_can_be_cancelled() -> None:
    async def scene() -> None:
        kinds = {"sample": StepKind(samples.__name__, 60)}
        work = asyncio.create_task(run_step(MACHINE, "sample", ("hang",), kinds))
        await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(scene())
