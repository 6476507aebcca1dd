# SPDX-License-Identifier: Apache-2.0
"""Waiting for something in a lab that has a past."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.cli import lab_run
from muster.lab.store import Lab
from tests.sites import Shape
from tests.unit.lab.plans import plan_of
from tests.unit.lab.test_story import event, report

HOST = "host-0"
PAST = [
    event(1, HOST, "power", state="on"),
    report(60, HOST, "1"),
    event(70, HOST, "qmp", event="RESET", data={"guest": True}),
]
FUTURE = [report(130, HOST, "2")]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab of one machine, which was healthy, and now boots again."""

    def follow(_lab: Lab, _until: float) -> Iterator[dict[str, Any]]:
        yield from [*PAST, *FUTURE]

    monkeypatch.setattr(lab_run, "load_events", lambda _lab: PAST)
    monkeypatch.setattr(lab_run, "follow", follow)
    return Lab(tmp_path, plan_of(Shape(masters=1, platform="none")))


@pytest.mark.parametrize(("until", "boots"), [("healthy", 2), (f"reports:{HOST}:1", 1)])
def test_what_was_so_before_does_not_count_as_so_now(lab: Lab, until: str, boots: int) -> None:
    story, unmet, _ = lab_run.wait(lab, until, 60)
    assert unmet == []
    assert len(story.machines[HOST].boots) == boots
