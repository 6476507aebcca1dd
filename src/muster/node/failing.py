# SPDX-License-Identifier: Apache-2.0
"""Programs of a node that start again and again: which, and what they say when they end.

A program may be started a few times until what it needs is there; nobody has to hear of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from muster.machine import Machine
from muster.redact import printable, redact

PROGRAMS: Final = (
    "muster-node-network",
    "muster-kube",
    "containerd",
    "etcd",
    "kube-apiserver",
    "kubelet",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "muster-cluster-setup",
    "muster-vips",
)
"""In the order in which they need each other: the first that fails is the cause."""
_MANY: Final = 4
_DEADLINE_S: Final = 30.0
_LONG: Final = 300


class Failing:
    """Finds the program that keeps the others from starting."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._restarts: Mapping[str, int] = {}

    async def find(self) -> str:
        """What is wrong, in a line; empty when nothing restarted since the last time."""
        shown = await self._machine.ask(
            ["systemctl", "show", "--property=Id,NRestarts", *(f"{each}.service" for each in PROGRAMS)],
            deadline_s=_DEADLINE_S,
        )
        before, self._restarts = self._restarts, dict(parse_restarts(shown.out))
        program = find_restarting(before, self._restarts)
        if not program:
            return ""
        said = await self._machine.ask(
            ["journalctl", "--boot", "--output=cat", "--lines=1", f"_SYSTEMD_UNIT={program}.service"],
            deadline_s=_DEADLINE_S,
        )
        words = printable(redact(said.out.strip()))[:_LONG] or f"see `journalctl -u {program}`"
        return f"{program} was started {self._restarts[program]} times and does not stay: {words}"


def find_restarting(before: Mapping[str, int], now: Mapping[str, int]) -> str:
    """The first program that was often started again, and once more since the last look; empty for none."""
    often = (each for each in PROGRAMS if now.get(each, 0) >= _MANY)
    return next((each for each in often if now[each] > before.get(each, 0)), "")


def parse_restarts(shown: str) -> Iterator[tuple[str, int]]:
    """How often systemd started each unit again."""
    for block in shown.split("\n\n"):
        facts = dict(line.partition("=")[::2] for line in block.splitlines())
        if facts.get("NRestarts", "").isdecimal():
            yield facts.get("Id", "").removesuffix(".service"), int(facts["NRestarts"])
