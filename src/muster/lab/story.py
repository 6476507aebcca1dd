# SPDX-License-Identifier: Apache-2.0
"""Events → what is known of each machine: whether it is on, how healthy it is, and when what happened."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from muster.frozen import dataclass as frozen

_FIRMWARE: Final = re.compile(
    r"SeaBIOS|iPXE|BdsDxe|UEFI|GNU GRUB|Loading kernel|Welcome to GRUB", re.IGNORECASE
)
_KERNEL: Final = re.compile(r"Linux version \d|Command line: |Booting Linux")
DEAD: Final = re.compile(
    r"Kernel panic - not syncing|THIS MACHINE DID NOT START|Reached target emergency\.target"
    r"|in emergency mode"
)
"""What a machine says when it gives up."""


@frozen(frozen=True)
class Moment:
    """Something that happened to a machine for the first time since it was switched on."""

    at: float
    machine: str
    what: str


@dataclass
class MachineStory:
    """What one machine went through."""

    is_on: bool = False
    on_since: float = 0.0
    boots: list[str] = field(default_factory=list)
    """Ids of the boots that it reported."""
    report: Mapping[str, Any] | None = None
    """The last report of this boot."""
    last_words: str = ""
    """What it said when it gave up; empty when it did not."""
    lines: int = 0
    roots: dict[str, float] = field(default_factory=dict)
    """When it had booted what it reported as its root file system, the first time: live, disk."""
    powered: float | None = None
    """When it was switched on for the first time."""

    @property
    def is_healthy(self) -> bool:
        report = self.report
        return report is not None and (
            report.get("state") == "running" and not report.get("failedUnits") and not self.failed_checks
        )

    def has_passed(self, check: str) -> bool:
        """Whether a check is there, and says that all is well."""
        checks = (self.report or {}).get("checks") or {}
        return bool(checks.get(check, {}).get("passed"))

    @property
    def failed_checks(self) -> tuple[str, ...]:
        """Programs in the guest's /etc/muster/report.d that say that something is not as it should be."""
        checks = (self.report or {}).get("checks") or {}
        return tuple(name for name, result in checks.items() if not result.get("passed"))

    @property
    def health(self) -> str:
        """In a few words."""
        if self.last_words:
            return "gave up"
        if not self.is_on:
            return "off"
        if self.report is None:
            return "no report yet"
        failed = [*(self.report.get("failedUnits") or ()), *(f"check {name}" for name in self.failed_checks)]
        return f"failed: {', '.join(failed)}" if failed else str(self.report.get("state", "unknown"))

    @property
    def addresses(self) -> tuple[str, ...]:
        """What it said its addresses are, without link-local ones."""
        found = (self.report or {}).get("addresses") or {}
        return tuple(
            each for group in found.values() for each in group if not each.lower().startswith("fe80")
        )


class Story:
    """All machines of a lab, told event by event."""

    def __init__(self, machines: Iterable[str]) -> None:
        self.machines = {name: MachineStory() for name in machines}
        self.moments: list[Moment] = []
        self._seen: set[tuple[str, str]] = set()
        self._watchers: list[Callable[[str, str], None]] = []

    def watch_lines(self, watcher: Callable[[str, str], None]) -> None:
        """Call this with machine and text for every line of a serial console."""
        self._watchers.append(watcher)

    def tell(self, event: Mapping[str, Any]) -> None:
        """Go on with one more event."""
        name = event.get("machine", "")
        machine = self.machines.get(name)
        if machine is None:
            return
        at = float(event["at"])
        match event["kind"]:
            case "power":
                self._power(name, machine, at, str(event["state"]))
                if words := str(event.get("words", "")):
                    machine.last_words = f"its emulator ended by a fault of its own: {words}"
                    self._mark(at, name, "gave up")
            case "serial":
                self._line(name, machine, at, str(event["text"]))
            case "report":
                self._report(name, machine, at, event["report"])
            case "qmp" if event["event"] == "RESET" and event.get("data", {}).get("guest"):
                machine.report, machine.last_words = None, ""
                self._forget(name)
                self._mark(at, name, "reboot", again=True)

    def _power(self, name: str, machine: MachineStory, at: float, state: str) -> None:
        machine.is_on = state == "on"
        machine.report = None
        self._forget(name)
        if machine.is_on:
            machine.on_since, machine.last_words = at, ""
            machine.powered = at if machine.powered is None else machine.powered
        self._mark(at, name, f"power {state}", again=True)

    def _line(self, name: str, machine: MachineStory, at: float, text: str) -> None:
        machine.lines += 1
        self._mark(at, name, "first serial line")
        if _FIRMWARE.search(text):
            self._mark(at, name, "firmware")
        if _KERNEL.search(text):
            self._mark(at, name, "kernel")
        if DEAD.search(text) and not machine.last_words:
            machine.last_words = text
            self._mark(at, name, "gave up")
        for watcher in self._watchers:
            watcher(name, text)

    def _report(self, name: str, machine: MachineStory, at: float, report: Mapping[str, Any]) -> None:
        boot = str(report.get("bootId", ""))
        if boot not in machine.boots:
            machine.boots.append(boot)
        machine.report = report
        uptime = report.get("uptimeSeconds")
        timings = report.get("timings") or {}
        if isinstance(uptime, int | float) and (name, "kernel") not in self._seen:
            self._mark(at - uptime, name, "kernel")
        if isinstance(uptime, int | float) and {"kernel", "initrd"} <= timings.keys():
            begun = at - uptime
            self._mark(begun + timings["kernel"], name, "initrd")
            root, rooted = str(report.get("root", "?")), begun + timings["kernel"] + timings["initrd"]
            machine.roots.setdefault(root, rooted)
            self._mark(rooted, name, f"root ({root})")
        self._mark(at, name, f"report: {machine.health}")

    def _mark(self, at: float, name: str, what: str, *, again: bool = False) -> None:
        if again or (name, what) not in self._seen:
            self._seen.add((name, what))
            self.moments.append(Moment(at, name, what))

    def _forget(self, name: str) -> None:
        self._seen = {entry for entry in self._seen if entry[0] != name}


def tell_story(machines: Iterable[str], events: Iterable[Mapping[str, Any]]) -> Story:
    """The story of a lab so far."""
    story = Story(machines)
    for event in events:
        story.tell(event)
    return story


def render_timeline(story: Story) -> str:
    """Per machine, what happened when: seconds since it was switched on, and since what came before."""
    blocks = []
    for name in story.machines:
        moments = sorted((each for each in story.moments if each.machine == name), key=lambda each: each.at)
        lines = [name]
        begun = before = moments[0].at if moments else 0.0
        for moment in moments:
            if moment.what == "power on":
                begun = before = moment.at
            lines.append(f"  {moment.at - begun:8.1f} s  {moment.at - before:+7.1f}  {moment.what}")
            before = moment.at
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def render_screen(report: Mapping[str, Any]) -> list[str]:
    """The lines on the screen of a machine as it reported them, without empty ones at the end."""
    lines = [str(line).rstrip() for line in report.get("screen") or ()]
    while lines and not lines[-1]:
        lines.pop()
    return lines
