# SPDX-License-Identifier: Apache-2.0
"""Faults of a lab as data: ``loss:master-0/eno1=20%`` is what users write, and what is kept and shown."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from muster.frozen import dataclass


class FaultKind(StrEnum):
    """What can go wrong on purpose."""

    LINK = "link"
    LOSS = "loss"
    DELAY = "delay"
    PARTITION = "partition"
    MEDIA = "media"
    POWER = "power"
    CLOCK = "clock"
    DISK_FULL = "disk-full"
    SLOW_DISK = "slow-disk"


@dataclass(frozen=True)
class Fault:
    """One thing that is broken: of which machine, which part of it, and how much."""

    kind: FaultKind
    machine: str = ""
    part: str = ""
    """The network card or the disk; empty for all of the machine."""
    amount: int = 0
    """Per cent, milliseconds, bytes a second or seconds since 1970, as the kind has it."""
    sides: tuple[tuple[str, ...], ...] = ()
    """The machines on both sides of a partition."""

    def __str__(self) -> str:
        if self.kind is FaultKind.PARTITION:
            return f"{self.kind}:" + "|".join(",".join(side) for side in self.sides)
        target = f"{self.machine}/{self.part}" if self.part else self.machine
        shown = _AMOUNTS[self.kind][1](self.amount) if self.kind in _AMOUNTS else ""
        return f"{self.kind}:{target}" + (f"={shown}" if shown else "")

    @property
    def place(self) -> tuple[object, ...]:
        """What the fault is a fault of: a second one there takes the place of the first."""
        return (self.kind, self.machine, self.part)


class BadFault(ValueError):
    """A text that names no fault; says why, and what it could be."""


FORMS: Final = {
    FaultKind.LINK: "link:HOST/CARD",
    FaultKind.LOSS: "loss:HOST/CARD=20%",
    FaultKind.DELAY: "delay:HOST/CARD=200ms",
    FaultKind.PARTITION: "partition:HOST,HOST|HOST",
    FaultKind.MEDIA: "media:HOST",
    FaultKind.POWER: "power:HOST",
    FaultKind.CLOCK: "clock:HOST=1970-01-01",
    FaultKind.DISK_FULL: "disk-full:HOST/DISK",
    FaultKind.SLOW_DISK: "slow-disk:HOST/DISK=1MB/s",
}
"""How each fault is written; a card or disk that is left out means all of the machine's."""
_WITHOUT_PART: Final = (FaultKind.MEDIA, FaultKind.POWER, FaultKind.CLOCK)
_RATE: Final = re.compile(r"(\d{1,6})\s*([KMG]?)B/s", re.IGNORECASE)
_POWERS: Final = {"": 1, "K": 1000, "M": 1000_000, "G": 1000_000_000}


def parse_fault(text: str) -> Fault:
    """A fault as users write it."""
    word, colon, rest = text.strip().partition(":")
    if word not in list(FaultKind) or not colon or not rest:
        raise BadFault(f"it has to be one of: {', '.join(FORMS.values())}")
    kind = FaultKind(word)
    if kind is FaultKind.PARTITION:
        return Fault(kind, sides=_parse_sides(rest))
    target, equals, amount = rest.partition("=")
    machine, slash, part = target.partition("/")
    if not machine or (slash and (not part or kind in _WITHOUT_PART)) or "/" in part:
        raise BadFault(f"it is written {FORMS[kind]}")
    if kind not in _AMOUNTS:
        if equals:
            raise BadFault(f"it takes no amount: {FORMS[kind]}")
        return Fault(kind, machine, part)
    if not amount:
        raise BadFault(f"it lacks an amount: {FORMS[kind]}")
    return Fault(kind, machine, part, _AMOUNTS[kind][0](amount))


def parse_place(text: str) -> Fault:
    """A fault that is to be healed: its amount may be left out."""
    word, _, rest = text.strip().partition(":")
    if word in list(FaultKind) and FaultKind(word) in _AMOUNTS and "=" not in rest:
        text = f"{text.strip()}={FORMS[FaultKind(word)].partition('=')[2]}"
    return parse_fault(text)


def _parse_sides(text: str) -> tuple[tuple[str, ...], ...]:
    sides = tuple(tuple(filter(None, (name.strip() for name in side.split(",")))) for side in text.split("|"))
    named = [name for side in sides for name in side]
    if len(sides) != 2 or not all(sides) or len(set(named)) != len(named):
        raise BadFault(f"it needs two sides with different hosts: {FORMS[FaultKind.PARTITION]}")
    return sides


def _parse_percent(text: str) -> int:
    number = text.removesuffix("%")
    if not number.isdecimal() or not 1 <= int(number) <= 100:
        raise BadFault(f"a loss is between 1% and 100%, not {text}")
    return int(number)


def _parse_milliseconds(text: str) -> int:
    found = re.fullmatch(r"(\d{1,6})(ms|s)", text)
    if not found or int(found[1]) == 0:
        raise BadFault(f"a delay is written 200ms or 2s, not {text}")
    return int(found[1]) * (1000 if found[2] == "s" else 1)


def _parse_moment(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadFault(
            f"a clock is set to a date such as 1970-01-01 or 2030-01-01T12:00:00, not {text}"
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _parse_rate(text: str) -> int:
    found = _RATE.fullmatch(text)
    if not found or int(found[1]) == 0:
        raise BadFault(f"a speed is written 500KB/s or 1MB/s, not {text}")
    return int(found[1]) * _POWERS[found[2].upper()]


def render_moment(seconds: int) -> str:
    """A moment as QEMU takes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _render_rate(rate: int) -> str:
    for unit in ("G", "M", "K"):
        if rate % _POWERS[unit] == 0:
            return f"{rate // _POWERS[unit]}{unit}B/s"
    return f"{rate}B/s"


_AMOUNTS: Final = {
    FaultKind.LOSS: (_parse_percent, "{}%".format),
    FaultKind.DELAY: (_parse_milliseconds, "{}ms".format),
    FaultKind.CLOCK: (_parse_moment, render_moment),
    FaultKind.SLOW_DISK: (_parse_rate, _render_rate),
}
