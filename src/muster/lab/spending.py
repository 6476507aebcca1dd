# SPDX-License-Identifier: Apache-2.0
"""Where the time of an installation in a lab went: its service tells the stages, the lab saw the machines."""

from __future__ import annotations

import sys
from typing import Final

import msgspec

from muster.client.phases import Course, Seen
from muster.errors import MusterError
from muster.lab.network import inside
from muster.lab.store import Lab
from muster.lab.story import Story
from muster.run import Circumstances, Run, run

_DEADLINE_S: Final = 40.0
_QUIETLY: Final = ("sh", "-c", 'exec "$@" 2>/dev/null', "sh")


class _Answer(msgspec.Struct):
    course: Course


def seen_in(story: Story) -> dict[str, Seen]:
    """What the lab saw of its machines."""
    return {
        name: Seen(each.powered, each.roots.get("live"), each.roots.get("disk"))
        for name, each in story.machines.items()
    }


def ask_course(lab: Lab, story: Story, *, run: Run = run) -> Course | None:
    """What the service of the lab's site says; None where nothing was installed, or nobody answers."""
    if not any("disk" in each.roots for each in story.machines.values()):
        return None
    argv = [
        sys.executable,
        "-m",
        "muster.cli",
        "agent",
        "timeline",
        "--dir",
        lab.plan.site,
        "--output",
        "json",
    ]
    try:
        text = run(
            [*_QUIETLY, *inside(lab.namespace, argv)], circumstances=Circumstances(deadline_s=_DEADLINE_S)
        )
        return msgspec.json.decode(text, type=_Answer).course
    except (MusterError, msgspec.DecodeError):
        return None
