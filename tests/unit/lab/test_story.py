# SPDX-License-Identifier: Apache-2.0
"""From events to what is known of the machines, and to whether a run may end."""

from __future__ import annotations

from typing import Any

import pytest

from muster.errors import UserError
from muster.lab.conditions import Waiting, parse_conditions
from muster.lab.lines import LineSplitter
from muster.lab.processes import parse_start
from muster.lab.story import Story, render_screen, render_timeline, tell_story


def event(at: float, machine: str, kind: str, **values: Any) -> dict[str, Any]:
    return {"at": at, "machine": machine, "kind": kind, **values}


def report(at: float, machine: str, boot: str = "1", state: str = "running", **more: Any) -> dict[str, Any]:
    body = {"bootId": boot, "state": state, "failedUnits": [], "root": "live", "uptimeSeconds": 30.0, **more}
    return event(at, machine, "report", report=body)


BOOT = [
    event(100, "a", "power", state="on"),
    event(101, "a", "serial", text="SeaBIOS (version 1.16)"),
    event(109, "a", "serial", text="[    0.000000] Linux version 6.12"),
    report(
        140, "a", timings={"kernel": 4.0, "initrd": 6.0}, addresses={"ens3": ["192.0.2.10/24", "fe80::1/64"]}
    ),
]


def test_a_boot() -> None:
    story = tell_story(["a"], BOOT)
    machine = story.machines["a"]
    assert (machine.is_on, machine.is_healthy, machine.health) == (True, True, "running")
    assert machine.addresses == ("192.0.2.10/24",)
    assert render_timeline(story) == "\n".join(
        [
            "a",
            "       0.0 s     +0.0  power on",
            "       1.0 s     +1.0  first serial line",
            "       1.0 s     +0.0  firmware",
            "       9.0 s     +8.0  kernel",
            "      14.0 s     +5.0  initrd",
            "      20.0 s     +6.0  root (live)",
            "      40.0 s    +20.0  report: running",
        ]
    )


def test_a_reboot_forgets_what_was_reported() -> None:
    story = tell_story(["a"], [*BOOT, event(150, "a", "qmp", event="RESET", data={"guest": True})])
    assert not story.machines["a"].is_healthy
    story.tell(report(190, "a", "2", root="disk"))
    assert story.machines["a"].boots == ["1", "2"]
    assert [moment.what for moment in story.moments][-3:] == ["reboot", "kernel", "report: running"]


@pytest.mark.parametrize(
    ("more", "health"),
    [
        ([], "no report yet"),
        ([report(5, "a", state="degraded", failedUnits=["x.service"])], "failed: x.service"),
        ([report(5, "a", state="starting")], "starting"),
        ([report(5, "a", checks={"reach": {"passed": False, "said": "no"}})], "failed: check reach"),
        ([event(5, "a", "serial", text="Kernel panic - not syncing: x")], "gave up"),
        ([event(5, "a", "power", state="off")], "off"),
        ([event(5, "a", "power", state="off", words="Assertion `x' failed.")], "gave up"),
    ],
)
def test_health(more: list[dict[str, Any]], health: str) -> None:
    story = tell_story(["a"], [event(1, "a", "power", state="on"), *more])
    assert story.machines["a"].health == health
    assert not story.machines["a"].is_healthy


def waiting(text: str, events: list[dict[str, Any]]) -> Waiting:
    story = Story(["a", "b"])
    found = Waiting(parse_conditions(text, ["a", "b"]), story)
    for each in events:
        story.tell(each)
    return found


@pytest.mark.parametrize(
    ("passed", "unmet"), [(True, []), (False, ["passed:a:disk"]), (None, ["passed:a:disk"])]
)
def test_a_check_is_waited_for_until_it_is_there_and_passes(passed: bool | None, unmet: list[str]) -> None:
    checks = {} if passed is None else {"disk": {"passed": passed, "said": ""}}
    report = {"bootId": "1", "state": "running", "failedUnits": [], "checks": checks}
    found = waiting(
        "passed:a:disk", [event(1, "a", "power", state="on"), event(2, "a", "report", report=report)]
    )
    assert [str(each) for each in found.unmet] == unmet


@pytest.mark.parametrize(
    ("text", "unmet"),
    [
        ("healthy:a", []),
        ("healthy", ["healthy"]),
        ("serial:a:Linux version \\d", []),
        ("serial:b:Linux", ["serial:b:Linux"]),
        ("healthy:a,reports:a:2,off", ["reports:a:2", "off"]),
        ("serial:a:x\\,y", ["serial:a:x,y"]),
    ],
)
def test_conditions(text: str, unmet: list[str]) -> None:
    assert [str(each) for each in waiting(text, BOOT).unmet] == unmet


@pytest.mark.parametrize(
    "text", ["", "fine", "healthy:c", "serial:a", "serial:a:(", "reports:a:0", "off:a:1", "passed:a"]
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(UserError):
        parse_conditions(text, ["a", "b"])


def test_a_wait_without_hope_ends() -> None:
    panic = event(5, "a", "serial", text="Kernel panic - not syncing: oh")
    assert waiting("healthy:b", [panic]).hopeless() == ""
    assert waiting("healthy", [panic]).hopeless() == "a: Kernel panic - not syncing: oh"
    fault = event(5, "a", "power", state="off", words="Assertion `x' failed.")
    assert "its emulator ended by a fault of its own: Assertion" in waiting("healthy", [fault]).hopeless()
    both = [event(1, name, "power", state=state) for name in ("a", "b") for state in ("on", "off")]
    assert waiting("healthy", both).hopeless() == "every machine is off"
    assert waiting("off", both).hopeless() == ""
    assert waiting("healthy", both[:2]).hopeless() == ""


def test_lines_of_a_serial_console() -> None:
    lines = LineSplitter()
    assert list(lines.feed(b"\x1b[2J\x1b[01;01Hfirst\r\nnext ")) == ["first"]
    assert list(lines.feed(b"\x1b[0;32mgreen\x1b[0m\r\n\r\nlogin: ")) == ["next green"]
    assert list(lines.flush()) == ["login:"]
    assert list(lines.flush()) == []
    assert list(lines.feed(b"one\x1b[5;1Htwo\n\xff\n")) == ["one", "two", "\ufffd"]


def test_the_start_of_a_process() -> None:
    words = " ".join(str(number) for number in range(4, 40))
    assert parse_start(f"12 (a) b (c)) S {words}") == 22
    assert parse_start(f"12 (a) Z {words}") is None


def test_a_screen_ends_with_its_last_words() -> None:
    assert render_screen({"screen": ["", "node1  ", "login:", "", "  "]}) == ["", "node1", "login:"]
    assert render_screen({"screen": ["", ""]}) == render_screen({}) == []
