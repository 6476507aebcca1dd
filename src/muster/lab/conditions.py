# SPDX-License-Identifier: Apache-2.0
"""What an unattended run waits for: ``healthy,serial:master-0:login:`` as data that a story meets or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.lab.story import Story

FORMS: Final = "healthy, healthy:HOST, passed:HOST:CHECK, serial:HOST:REGEX, reports:HOST:N, off, off:HOST"


@dataclass(frozen=True)
class Condition:
    """One thing that has to come true; of one machine, or of all."""

    kind: str
    machine: str = ""
    pattern: str = ""
    count: int = 0

    def __str__(self) -> str:
        more = self.pattern or (str(self.count) if self.count else "")
        return ":".join(filter(None, (self.kind, self.machine, more)))


def parse_conditions(text: str, machines: Sequence[str]) -> tuple[Condition, ...]:
    """All conditions of a text; a comma stands between them, and a backslash before one that is meant."""
    parts = [part.replace("\\,", ",") for part in re.split(r"(?<!\\),", text)]
    return tuple(_parse(part.strip(), machines) for part in parts)


def _parse(text: str, machines: Sequence[str]) -> Condition:
    kind, _, rest = text.partition(":")
    machine, _, more = rest.partition(":")
    if machine and machine not in machines:
        raise UserError(
            f"the condition {text} names {machine}, which the lab does not have",
            hint=f"its machines are: {', '.join(machines)}",
        )
    match kind:
        case "healthy" | "off" if not more:
            return Condition(kind, machine)
        case "passed" if machine and more:
            return Condition(kind, machine, pattern=more)
        case "serial" if machine and more:
            return Condition(kind, machine, pattern=_checked(more))
        case "reports" if machine and more.isdecimal() and int(more) > 0:
            return Condition(kind, machine, count=int(more))
        case _:
            raise UserError(f"{text!r} is no condition", hint=f"there are: {FORMS}; commas join several")


def _checked(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise UserError(f"{pattern!r} is no regular expression: {error}", hint="mend or quote it") from error
    return pattern


class Waiting:
    """Which conditions a story has not met yet. Serial lines count from the beginning of the story."""

    def __init__(self, conditions: Sequence[Condition], story: Story) -> None:
        self._story = story
        self._left = list(conditions)
        self._spoken: set[Condition] = set()
        story.watch_lines(self._hear)

    def _hear(self, machine: str, text: str) -> None:
        for condition in self._left:
            if (
                condition.kind == "serial"
                and condition.machine == machine
                and re.search(condition.pattern, text)
            ):
                self._spoken.add(condition)

    @property
    def unmet(self) -> list[Condition]:
        """What is still not so."""
        return [condition for condition in self._left if not self._is_met(condition)]

    def _is_met(self, condition: Condition) -> bool:
        machines = self._story.machines
        names = [condition.machine] if condition.machine else list(machines)
        match condition.kind:
            case "healthy":
                return all(machines[name].is_on and machines[name].is_healthy for name in names)
            case "off":
                return all(not machines[name].is_on and machines[name].on_since for name in names)
            case "passed":
                return machines[condition.machine].has_passed(condition.pattern)
            case "reports":
                return len(machines[condition.machine].boots) >= condition.count
            case _:
                return condition in self._spoken

    def hopeless(self) -> str:
        """Why it cannot come true any more, if that is certain."""
        unmet = self.unmet
        for name, machine in self._story.machines.items():
            concerned = any(each.machine in ("", name) for each in unmet)
            if machine.last_words and concerned:
                return f"{name}: {machine.last_words}"
        started = all(machine.on_since for machine in self._story.machines.values())
        if unmet and started and not any(machine.is_on for machine in self._story.machines.values()):
            return "every machine is off"
        return ""
