# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with modelled hosts: the lab's own faults, and those that only a model can have."""

from __future__ import annotations

import math
import re
from enum import StrEnum
from ipaddress import ip_address
from typing import Final, TypeAlias, get_args

from muster.frozen import dataclass
from muster.model.fault import FORMS as LAB_FORMS
from muster.model.fault import BadFault, Fault, FaultKind, parse_fault
from muster.model.wire.enums import HostStage

STAGES: Final[tuple[HostStage, ...]] = get_args(HostStage)


class SimFaultKind(StrEnum):
    """What can go wrong beside what the lab can break."""

    DUPLICATE_IP = "duplicate-ip"
    VIP_IN_USE = "vip-in-use"
    SKEW = "skew"
    SLOW_SYNC = "slow-sync"
    LOST = "lost"
    IMAGE = "image"
    DNS = "dns"
    NTP = "ntp"


FORMS: Final = {
    SimFaultKind.DUPLICATE_IP: "duplicate-ip:HOST",
    SimFaultKind.VIP_IN_USE: "vip-in-use:ADDRESS",
    SimFaultKind.SKEW: "skew:HOST=+90m",
    SimFaultKind.SLOW_SYNC: "slow-sync:HOST/DISK=50ms",
    SimFaultKind.LOST: "lost:HOST=STAGE",
    SimFaultKind.IMAGE: "image:NAME",
    SimFaultKind.DNS: "dns:NAME",
    SimFaultKind.NTP: "ntp:SERVER",
}
"""How each is written; ``*`` stands for every host, image, name or server."""
ALL_FORMS: Final = (*LAB_FORMS.values(), *FORMS.values())
ANY: Final = "*"
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN: Final = re.compile(r"@(\d{1,7})([smhd])(?:\.\.(\d{1,7})([smhd]))?\Z")


@dataclass(frozen=True)
class SimFault:
    """One thing that is broken in the model."""

    kind: SimFaultKind
    target: str
    """The host, address, image, name or server."""
    part: str = ""
    """The disk; empty for all of the host's."""
    amount: int = 0
    """Seconds or milliseconds, as the kind has it."""
    stage: HostStage | None = None

    def __str__(self) -> str:
        target = f"{self.target}/{self.part}" if self.part else self.target
        match self.kind:
            case SimFaultKind.SKEW:
                return f"{self.kind}:{target}={self.amount:+d}s"
            case SimFaultKind.SLOW_SYNC:
                return f"{self.kind}:{target}={self.amount}ms"
            case SimFaultKind.LOST:
                return f"{self.kind}:{target}={slug_of(self.stage or 'Rebooting')}"
            case _:
                return f"{self.kind}:{target}"


AnyFault: TypeAlias = Fault | SimFault


@dataclass(frozen=True)
class Trouble:
    """A fault, and for how long it lasts, in seconds after the beginning."""

    fault: AnyFault
    since_s: float = 0.0
    until_s: float = math.inf

    def __str__(self) -> str:
        if not self.since_s and self.until_s == math.inf:
            return str(self.fault)
        end = "" if self.until_s == math.inf else f"..{self.until_s:.0f}s"
        return f"{self.fault}@{self.since_s:.0f}s{end}"

    def lasts_at(self, elapsed_s: float) -> bool:
        """Whether it is broken then."""
        return self.since_s <= elapsed_s < self.until_s


def parse_trouble(text: str) -> Trouble:
    """A fault as users write it: ``link:master-0``, or from a minute to two with ``link:master-0@1m..2m``."""
    text = text.strip()
    found = _SPAN.search(text)
    if not found:
        return Trouble(parse_any(text))
    since = int(found[1]) * _UNITS[found[2]]
    until = int(found[3]) * _UNITS[found[4]] if found[3] else math.inf
    if until <= since:
        raise BadFault(f"it ends before it begins: {text[found.start() :]}")
    return Trouble(parse_any(text[: found.start()]), since, until)


def parse_any(text: str) -> AnyFault:
    """A fault of the lab or of the model."""
    word, colon, rest = text.partition(":")
    if word in list(FaultKind):
        return parse_fault(text)
    if word not in list(SimFaultKind) or not colon or not rest:
        raise BadFault(f"it has to be one of: {', '.join(ALL_FORMS)}")
    kind = SimFaultKind(word)
    target, equals, amount = rest.partition("=")
    if kind in (SimFaultKind.SKEW, SimFaultKind.LOST, SimFaultKind.SLOW_SYNC):
        return _parse_of_host(kind, target, amount)
    if equals:
        raise BadFault(f"it takes no amount: {FORMS[kind]}")
    if kind is SimFaultKind.VIP_IN_USE:
        target = _checked_address(target)
    return SimFault(kind, target)


def _parse_of_host(kind: SimFaultKind, target: str, amount: str) -> SimFault:
    host, slash, part = target.partition("/")
    if not host or not amount or (slash and (not part or kind is not SimFaultKind.SLOW_SYNC)):
        raise BadFault(f"it is written {FORMS[kind]}")
    if kind is SimFaultKind.LOST:
        return SimFault(kind, host, stage=parse_stage(amount))
    if kind is SimFaultKind.SKEW:
        return SimFault(kind, host, amount=_parse_skew(amount))
    found = re.fullmatch(r"(\d{1,6})ms", amount)
    if not found or int(found[1]) == 0:
        raise BadFault(f"the time of a sync is written 50ms, not {amount}")
    return SimFault(kind, host, part, int(found[1]))


def parse_stage(text: str) -> HostStage:
    """A stage by its name, or by its name with hyphens."""
    for stage in STAGES:
        if slug_of(stage) == slug_of(text):
            return stage
    raise BadFault(f"{text} is no stage; there are: {', '.join(map(slug_of, STAGES))}")


def slug_of(text: str) -> str:
    """A stage as one word: what is easily written in a shell."""
    return text.strip().lower().replace(" ", "-")


def _parse_skew(text: str) -> int:
    found = re.fullmatch(r"([+-]?)(\d{1,9})([smhd])", text)
    if not found or int(found[2]) == 0:
        raise BadFault(f"how far a clock is off is written +90m or -2d, not {text}")
    return int(found[2]) * _UNITS[found[3]] * (-1 if found[1] == "-" else 1)


def _checked_address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise BadFault(f"{text} is no address: {FORMS[SimFaultKind.VIP_IN_USE]}") from None
