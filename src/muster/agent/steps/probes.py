# SPDX-License-Identifier: Apache-2.0
"""Asking for an address with ping, arping and ndisc6, and what they answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import Final

from muster.agent.steps.nics import Address
from muster.frozen import dataclass
from muster.machine import Machine
from muster.run import LATE, MISSING, Said

_LOSS: Final = re.compile(r"([\d.]+)% packet loss")
_RTT: Final = re.compile(r"^(?:rtt|round-trip) min/avg/max\S* = [\d.]+/([\d.]+)/", re.MULTILINE)
_ARP: Final = re.compile(r"reply from \S+ \[([0-9A-Fa-f:]+)\]")
_MAC: Final = re.compile(r"^(?:[0-9A-Fa-f]{1,2}:){5,}[0-9A-Fa-f]{1,2}$")
_WAIT_S: Final = 2
_QUICK_WAIT_S: Final = 1
_DEADLINE_S: Final = 10.0
_NEVER_RAN: Final = frozenset({LATE, MISSING})


class NotTested(Exception):
    """Nothing can be said about an address; the text says why."""


@dataclass(frozen=True)
class Pinged:
    """How an address answered pings."""

    loss_percent: float
    rtt_ms: float | None = None
    """On average, of those that came back."""

    @property
    def is_answered(self) -> bool:
        return self.rtt_ms is not None or self.loss_percent < 100


def parse_ping(out: str) -> Pinged:
    """The summary of ping; one that could send nothing has none, and lost all."""
    loss, rtt = _LOSS.search(out), _RTT.search(out)
    return Pinged(float(loss[1]) if loss else 100.0, float(rtt[1]) if rtt else None)


def parse_arping(out: str) -> tuple[str, ...]:
    """The MACs that answered, each once."""
    return tuple(sorted({each.lower() for each in _ARP.findall(out)}))


def parse_ndisc(out: str) -> tuple[str, ...]:
    """The MACs that ndisc6 prints when it is to print nothing else, each once and with all its digits."""
    lines = (line.strip() for line in out.splitlines())
    return tuple(sorted({_whole(line) for line in lines if _MAC.match(line)}))


def _whole(mac: str) -> str:
    return ":".join(part.zfill(2) for part in mac.lower().split(":"))


async def ping(machine: Machine, address: Address) -> Pinged:
    """Ten packets, as many as tell 10 % of loss from none, but in two seconds."""
    return parse_ping((await _ping(machine, address, ["-c", "10", "-W", str(_WAIT_S)])).out)


async def is_answering(machine: Machine, address: Address, options: Sequence[str] = ()) -> bool:
    """Whether an address answers at least one of three packets."""
    return (await _ping(machine, address, ["-c", "3", "-W", str(_QUICK_WAIT_S), *options])).is_ok


async def _ping(machine: Machine, address: Address, options: Sequence[str]) -> Said:
    argv = ["ping", "-n", "-q", "-i", "0.2", *options, str(address)]
    said = await machine.ask(argv, deadline_s=_DEADLINE_S)
    if said.status in _NEVER_RAN:
        raise NotTested(said.trouble)
    return said


async def find_macs(machine: Machine, nic: str, source: Address, address: Address) -> tuple[str, ...]:
    """Who says to have an address on the link of an interface; several do when it is given twice."""
    if isinstance(address, IPv4Address):
        # Broadcasts only: after an answer arping would go on to ask that one alone, and never hear a second.
        argv = ["arping", "-b", "-c", "2", "-w", str(_WAIT_S), "-I", nic, "-s", str(source), str(address)]
        parse, silent = parse_arping, 1
    else:
        argv = ["ndisc6", "-q", "-n", "-m", "-r", "2", "-w", "500", "-s", str(source), str(address), nic]
        parse, silent = parse_ndisc, 2
    said = await machine.ask(argv, deadline_s=_DEADLINE_S)
    macs = parse(said.out)
    if not macs and said.status not in (0, silent):
        raise NotTested(said.trouble)
    return macs
