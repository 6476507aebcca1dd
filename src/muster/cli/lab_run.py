# SPDX-License-Identifier: Apache-2.0
"""`muster lab run | wait`: boot a site unattended until something is so, with a timeline, or evidence."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from muster.cli import log, options
from muster.cli.lab_options import Call as LabCall
from muster.cli.lab_options import lab_options
from muster.cli.lab_up import Call, make, start_options
from muster.cli.pace import Pace
from muster.client.phases import Course, render_spent, spent_by
from muster.errors import ExitStatus, UserError
from muster.frozen import dataclass
from muster.lab.capacity import expected_s
from muster.lab.conditions import FORMS, Waiting, parse_conditions
from muster.lab.evidence import default_place, keep_evidence
from muster.lab.plan import LabPlan
from muster.lab.power import changing
from muster.lab.reach import Login
from muster.lab.recording import follow, load_events
from muster.lab.spending import ask_course, seen_in
from muster.lab.store import Lab, labs_folder
from muster.lab.story import Story, render_timeline
from muster.lab.upkeep import take_down
from muster.units import parse_span, render_clock

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Keeping:
    """What happens to the evidence when a run fails."""

    place: Path | None
    login: Login | None


_EVIDENCE: Final = (
    click.option(
        "--evidence", metavar="DIR", type=click.Path(path_type=Path),
        help="Where evidence goes when it fails.  [default: ~/.local/state/muster/evidence/...]",
    ),
    click.option(
        "--key", metavar="FILE", type=click.Path(path_type=Path), help="SSH key to fetch journals with."
    ),
)  # fmt: skip


def _evidence_options(command: F) -> F:
    """--evidence and --key; the command is given them as `keeping`."""

    @wraps(command)
    def gathered(*args: Any, evidence: Path | None, key: Path | None, **kwargs: Any) -> Any:
        keeping = Keeping(evidence, Login(key=key.resolve()) if key else None)
        return command(*args, keeping=keeping, **kwargs)

    for option in reversed(_EVIDENCE):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def _wait_options(command: F) -> F:
    """--until and --deadline."""
    until = click.option(
        "--until", metavar="CONDITION", default="healthy", show_default=True, help=f"{FORMS}; commas join."
    )
    deadline = click.option(
        "--deadline", metavar="TIME", default="10m", show_default=True, help="How long to wait, e.g. 90s."
    )
    return until(deadline(command))


@click.command(
    "run",
    epilog=options.examples(
        "muster lab run mysite --until healthy --deadline 10m",
        "muster lab run mysite --only master-0 --until 'serial:master-0:login:' --keep",
    ),
)
@start_options
@_evidence_options
@_wait_options
@click.option("--keep", is_flag=True, help="Leave the lab up when it is done, or failed.")
def run_(call: Call, until: str, deadline: str, keep: bool, keeping: Keeping) -> ExitStatus:
    """Boot the site in SITE, wait until CONDITION is so, print a timeline, and end the lab.

    healthy: every machine reports that it runs, with no failed unit. serial: a line of its console matches.
    reports: it reported so many different boots. off: all have ended. Where machines installed themselves,
    the timeline ends with how long each took for each phase. The exit status is 0 when the
    condition came true in time, else 1; then one folder keeps serial logs, reports, screens and, with --key,
    journals. A kernel panic, or all machines being off, ends the wait early.
    """
    span_s = parse_span(deadline).total_seconds()
    lab = make(call, lambda plan: _check(plan, until))
    try:
        expected = expected_s(len(lab.plan.machines), lab.load_state().emulator.accel, os.cpu_count() or 1)
        with Pace("waiting for the machines", expected) as pace:
            pace.go(0, expected - 1)  # What takes longer is not done before it is done.
            story, unmet, reason = wait(lab, until, span_s)
        place, course = None, ask_course(lab, story)
        if unmet:
            place = keeping.place or default_place(labs_folder(), lab.name)
            keep_evidence(lab.folder, place, keeping.login)
            (place / "timeline.txt").write_text(_timeline(story, course) + "\n", "utf-8")
        _tell(call.as_json, Told(story, course, tuple(unmet), reason), place)
        return ExitStatus.FAILED if unmet else ExitStatus.OK
    finally:
        if not keep:
            take_down(labs_folder(), lab.name)


@click.command("wait", epilog=options.examples("muster lab wait --until reports:master-0:2 --deadline 5m"))
@_wait_options
@lab_options
def wait_(call: LabCall, until: str, deadline: str) -> ExitStatus:
    """Wait until CONDITION is so in a lab that is up, and print its timeline; it stays up.

    Conditions are those of `muster lab run`. healthy and off are about now; serial lines and reports count
    from when the lab came up. The exit status is 0 when the condition came true in time, else 1.
    """
    span_s = parse_span(deadline).total_seconds()
    _check(call.lab.plan, until)
    with changing(call.lab):
        pass  # It starts the recorder when that is gone.
    story, unmet, reason = wait(call.lab, until, span_s)
    _tell(call.as_json, Told(story, ask_course(call.lab, story), tuple(unmet), reason), None)
    return ExitStatus.FAILED if unmet else ExitStatus.OK


def _check(plan: LabPlan, until: str) -> None:
    parse_conditions(until, [machine.name for machine in plan.machines])


def wait(lab: Lab, until: str, span_s: float) -> tuple[Story, list[str], str]:
    """Follow a lab until all conditions are met; else those that are not, and why the wait ended."""
    end = time.monotonic() + span_s
    shown = 0
    while True:
        names = [machine.name for machine in lab.plan.machines]
        story = Story(names)
        waiting = Waiting(parse_conditions(until, names), story)
        # What is past is told first. A machine that was healthy then may be in the middle of a reboot now.
        past = len(load_events(lab))
        for number, event in enumerate(follow(lab, end), start=1):
            story.tell(event)
            for moment in story.moments[shown:]:
                log.say("%s: %s", moment.machine, moment.what)
            shown = max(shown, len(story.moments))
            if number < past:
                continue
            if not waiting.unmet:
                return story, [], ""
            if hopeless := waiting.hopeless():
                return story, list(map(str, waiting.unmet)), hopeless
        if time.monotonic() >= end:
            return story, list(map(str, waiting.unmet)), f"not within {render_clock(span_s)}"
        _start_again(lab)


def _start_again(lab: Lab) -> None:
    """Somebody ended the recorder, or all of the lab. A new recorder tells the whole story anew."""
    if not lab.folder.exists():
        raise UserError(f"the lab {lab.name} was taken down", hint="nothing is left to wait for")
    with changing(lab):
        log.say("the recorder ended; it was started again")


@dataclass(frozen=True)
class Told:
    """What there is to tell at the end."""

    story: Story
    course: Course | None
    """What the service of the site says, if it installed one."""
    unmet: tuple[str, ...]
    reason: str


def _timeline(story: Story, course: Course | None) -> str:
    parts = [render_timeline(story)]
    if course is not None:
        parts.append(render_spent(course, seen_in(story)))
    return "\n".join(parts)


def _tell(as_json: bool, told: Told, place: Path | None) -> None:
    story, unmet, reason = told.story, list(told.unmet), told.reason
    if as_json:
        body: dict[str, Any] = {
            "met": not unmet,
            "unmet": unmet,
            "reason": reason,
            "evidence": str(place) if place else None,
            "timeline": [
                {"at": each.at, "machine": each.machine, "what": each.what} for each in story.moments
            ],
            "seconds": spent_by(told.course, seen_in(story)) if told.course else None,
            "reports": {name: each.report for name, each in story.machines.items()},
            "boots": {name: len(each.boots) for name, each in story.machines.items()},
        }
        click.echo(json.dumps(body, indent=2, ensure_ascii=False))
        return
    click.echo(_timeline(story, told.course))
    for name, machine in story.machines.items():
        click.echo(f"{name}: {machine.health}")
    if unmet:
        click.echo(f"failed: {', '.join(unmet)}: {reason}")
    if place is not None:
        click.echo(f"evidence: {place}")
