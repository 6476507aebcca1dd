# SPDX-License-Identifier: Apache-2.0
"""Which steps there are."""

from __future__ import annotations

import inspect
from typing import get_args

from muster.agent.steps.table import STEPS, first_of
from muster.model.wire.enums import StepType

OF_THE_LOOP = {
    "execute",
    "inventory",
    "install",
    "stop-installation",
    "logs-gather",
    "next-step-runner",
    "upgrade-agent",
    "download-boot-artifacts",
    "reboot-for-reclaim",
}


def test_every_kind_of_step_is_a_check_or_done_by_the_loop() -> None:
    assert set(STEPS) == set(get_args(StepType)) - OF_THE_LOOP


def test_every_check_has_a_function_and_a_deadline() -> None:
    for name, kind in STEPS.items():
        assert inspect.iscoroutinefunction(kind.run), name
        inspect.signature(kind.run).bind(None, ())
        assert 0 < kind.deadline_s <= 1000, name


def test_the_first_of_several_errors() -> None:
    inner = ValueError("a")
    assert first_of(inner) is inner
    assert first_of(ExceptionGroup("x", [ExceptionGroup("y", [inner]), KeyError("b")])) is inner
