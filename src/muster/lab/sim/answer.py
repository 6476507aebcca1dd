# SPDX-License-Identifier: Apache-2.0
"""What a modelled host does when it is asked: how long it takes, what it says at the end, and meanwhile."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from muster.model.wire.enums import HostStage
from muster.model.wire.reports import StepReply
from muster.model.wire.steps import LogsGatherCmdRequest

Then: TypeAlias = Literal["", "restart", "reboot", "silence"]
"""What the host does when all is said: start its agent anew, boot the medium again, or nothing ever again."""

BAD_STEP: Final = -1
MEDIA_GONE: Final = 256
NAME_IN_USE: Final = 125


class Progress(msgspec.Struct, frozen=True, gc=False):
    """A stage of an installation that is reached after a while, and what is said of it."""

    after_s: float
    stage: HostStage
    info: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What comes of a step."""

    duration_s: float = 0.0
    reply: StepReply | None = None
    progress: tuple[Progress, ...] = ()
    again_s: float | None = None
    """When the host has to be asked how its installation goes on."""
    stops: bool = False
    """Whether an installation that was going on has ended with this."""
    leaves: bool = False
    """Whether the agent is gone after the last of the progress: the host boots from its disk."""
    then: Then = ""
    logs: LogsGatherCmdRequest | None = None
    """The logs that are collected meanwhile, and sent."""


class Outcome(msgspec.Struct, frozen=True):
    """What a step gave: its output, or why it failed."""

    duration_s: float
    output: str = ""
    exit_code: int = 0
    error: str = ""
    then: Then = ""
