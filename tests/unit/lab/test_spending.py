# SPDX-License-Identifier: Apache-2.0
"""Where the time went in a lab: asked of the service where something was installed, and only there."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from muster.client.phases import Course, Phase, Seen, spent_by
from muster.errors import ExternalError
from muster.lab.spending import ask_course, seen_in
from muster.lab.store import Lab, make_lab
from muster.lab.story import Story, tell_story
from tests.stand_in import Asked, StandIn
from tests.unit.lab.plans import plan_of

COURSE = Course(
    140.0,
    390.0,
    {"a": {"registered": 150.0, "Starting installation": 160.0, "Rebooting": 200.0, "Done": 350.0}},
)


class Answering(StandIn):
    def __init__(self, answer: str | None) -> None:
        super().__init__()
        self._answer = answer

    def answer(self, asked: Asked) -> str:
        if self._answer is None:
            raise ExternalError("nobody answers")
        return self._answer


def report(at: float, root: str, boot: str) -> dict[str, object]:
    body = {
        "bootId": boot,
        "root": root,
        "state": "running",
        "uptimeSeconds": 30.0,
        "timings": {"kernel": 5.0, "initrd": 10.0, "userspace": 15.0},
    }
    return {"machine": "a", "at": at, "kind": "report", "report": body}


POWER = {"machine": "a", "at": 100.0, "kind": "power", "state": "on"}
LIVE = [POWER, report(145.0, "live", "1")]
BOTH = [*LIVE, {"machine": "a", "at": 205.0, "kind": "qmp", "event": "RESET", "data": {"guest": True}}]
BOTH += [report(265.0, "disk", "2"), {**POWER, "at": 500.0}, report(545.0, "disk", "3")]


def lab(folder: Path) -> Lab:
    return make_lab(folder / "lab", plan_of())


def test_the_first_boots_are_those_of_the_installation() -> None:
    assert seen_in(tell_story(["a"], BOTH)) == {"a": Seen(100.0, 130.0, 250.0)}
    assert seen_in(tell_story(["a"], LIVE)) == {"a": Seen(100.0, 130.0, None)}
    assert seen_in(Story(["a"])) == {"a": Seen()}


def test_nobody_is_asked_where_nothing_was_installed(tmp_path: Path) -> None:
    run = Answering("{}")
    assert ask_course(lab(tmp_path), tell_story(["a"], LIVE), run=run) is None
    assert run.asked == []


def test_the_service_is_asked_in_the_networks_of_the_lab(tmp_path: Path) -> None:
    run = Answering(json.dumps({"course": msgspec.to_builtins(COURSE), "seconds": {}}))
    story = tell_story(["a"], BOTH)
    course = ask_course(lab(tmp_path), story, run=run)
    assert course == COURSE
    assert "netns" in run.asked[0]
    assert run.asked[0][-2:] == ["--output", "json"]
    assert spent_by(course, seen_in(story))["a"] == {
        Phase.BOOT: 30.0,
        Phase.MEETING: 20.0,
        Phase.CHECKS: 10.0,
        Phase.WRITE: 40.0,
        Phase.REBOOT: 50.0,
        Phase.NODE: 100.0,
        Phase.SET_UP: 40.0,
    }


def test_a_service_that_is_gone_or_speaks_nonsense_tells_nothing(tmp_path: Path) -> None:
    story = tell_story(["a"], BOTH)
    for answer in (None, "", "{}", "nonsense"):
        assert ask_course(lab(tmp_path / str(answer)), story, run=Answering(answer)) is None
