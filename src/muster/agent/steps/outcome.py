# SPDX-License-Identifier: Apache-2.0
"""What a step is given, and what comes of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from muster.frozen import dataclass
from muster.machine import Machine

T = TypeVar("T")
BAD_STEP: Final = -1
"""The exit code of a step that could not be understood, or that is none of this agent's."""


@dataclass(frozen=True)
class Outcome:
    """What is replied."""

    output: str = ""
    """JSON, as the service reads it for this kind of step."""
    exit_code: int = 0
    error: str = ""


StepFunction = Callable[[Machine, Sequence[str]], Awaitable[Outcome]]
"""A step: its arguments as the service sent them → what came of it. `BadArguments`: it cannot read them."""


class BadArguments(Exception):
    """The arguments of a step are not what they have to be; the text says what is wrong."""


def read(args: Sequence[str], kind: type[T]) -> T:
    """The first argument, which is JSON."""
    if not args:
        raise BadArguments("the step has no argument")
    try:
        return msgspec.json.decode(args[0], type=kind)
    except msgspec.DecodeError as error:
        raise BadArguments(f"the argument of the step cannot be read: {error}") from error


def reply(body: Any) -> Outcome:
    """An outcome with a body as JSON."""
    return Outcome(msgspec.json.encode(body).decode())
