# SPDX-License-Identifier: Apache-2.0
"""What is read of a host: links, terminals, sticks, whether a shell is allowed, and whether it got worse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muster.client.snapshot import ServiceSight, Trouble
from muster.console.facts import Link, parse_links
from muster.console.judging import Reach, Verdict, judge, may_keep, reach_of
from muster.console.kinds import find_kind, is_plain, settle_environment
from muster.console.shell import may_have_shell
from muster.console.sticks import Stick, parse_sticks
from tests.unit.console.scenes import facts


def link(name: str, *flags: str, **more: Any) -> dict[str, Any]:
    return {"ifname": name, "flags": list(flags), **more}


def test_links() -> None:
    found = [
        link("lo", "LOOPBACK", "LOWER_UP"),
        link(
            "eth0",
            "LOWER_UP",
            address="52:54:00:00:00:01",
            addr_info=[
                {"local": "fe80::1", "prefixlen": 64},
                {"local": "192.0.2.10", "prefixlen": 24},
                {"local": "nonsense", "prefixlen": 24},
                {"prefixlen": 3},
            ],
        ),
        link("bond0", linkinfo={"info_kind": "bond"}),
        link("eth1", master="bond0"),
        "nonsense",
        {"ifname": 3},
    ]
    assert parse_links(json.dumps(found)) == (
        Link("eth0", True, ("192.0.2.10/24", "fe80::1/64"), "52:54:00:00:00:01"),
        Link("bond0", False, kind="bond"),
        Link("eth1", False, port_of="bond0"),
    )


@pytest.mark.parametrize("text", ["", "nonsense", "{}", "3", "[" * 100_000])
def test_links_that_make_no_sense(text: str) -> None:
    assert parse_links(text) == ()


def test_who_the_rendezvous_host_is() -> None:
    assert facts().is_rendezvous
    assert not facts(links=(Link("eth0", True, ("192.0.2.100/24",)),)).is_rendezvous
    assert not facts(meeting=None).is_rendezvous


GOOD, ALONE, LOST = Reach(True, True), Reach(False, True), Reach(False, False)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (GOOD, GOOD, Verdict.SAME),
        (GOOD, ALONE, Verdict.WORSE),
        (GOOD, LOST, Verdict.WORSE),
        (ALONE, GOOD, Verdict.BETTER),
        (ALONE, LOST, Verdict.WORSE),
        (LOST, ALONE, Verdict.BETTER),
        (LOST, LOST, Verdict.SAME),
    ],
)
def test_better_or_worse(before: Reach, after: Reach, verdict: Verdict) -> None:
    assert judge(before, after) is verdict
    assert may_keep(before, after) == (verdict is not Verdict.WORSE)


def test_what_a_host_reaches() -> None:
    assert reach_of(facts()) == GOOD
    away = ServiceSight(Trouble.SILENT, "no answer in time")
    assert reach_of(facts(sight=away)) == ALONE
    assert reach_of(facts(sight=None, links=(Link("eth0", True, ("fe80::1/64",)),))) == LOST


@pytest.mark.parametrize(
    ("tty", "given", "kind"),
    [
        ("/dev/tty1", "", "linux"),
        ("/dev/ttyS0", "", "vt220"),
        ("/dev/ttyAMA0", "unknown", "vt220"),
        ("/dev/ttyS0", "xterm", "xterm"),
        ("/dev/hvc0", "", "vt220"),
    ],
)
def test_kinds_of_terminals(tty: str, given: str, kind: str) -> None:
    assert find_kind(tty, given) == kind
    environment = {"TERM": given, "COLUMNS": "7", "LINES": "3"}
    assert settle_environment(environment, tty) == environment["TERM"] == kind
    assert "COLUMNS" not in environment
    assert not is_plain(kind)
    assert is_plain("dumb")


@pytest.mark.parametrize(
    ("arguments", "has_key", "is_given"),
    [
        ("quiet", False, False),
        ("quiet", True, True),
        ("muster.shell=1", False, True),
        ("muster.shell", False, True),
        ("muster.shell=0", True, False),
        ("muster.shell=1 muster.shell=0", True, False),
        ("nomuster.shell=1", False, False),
    ],
)
def test_who_gets_a_shell(arguments: str, has_key: bool, is_given: bool) -> None:
    found = may_have_shell(arguments, has_key=has_key)
    assert found.is_given == is_given
    assert is_given or found.reason.startswith("no shell: ")


def device(path: str, **more: Any) -> dict[str, Any]:
    return {"path": path, "fstype": None, "rm": False, "hotplug": False, "tran": None, "ro": False, **more}


def test_sticks() -> None:
    found = [
        device("/dev/sda", children=[device("/dev/sda1", fstype="ext4", size="480G", mountpoints=[None])]),
        device(
            "/dev/sdb",
            rm=True,
            model="Flash ",
            children=[
                device("/dev/sdb1", fstype="vfat", label="LOGS", size="8G", mountpoints=[None]),
                device("/dev/sdb2", fstype="ext4", size="8G", mountpoints=["/mnt"]),
                device("/dev/sdb3", size="8G"),
                "nonsense",
            ],
        ),
        device("/dev/sdc", tran="usb", fstype="iso9660", size="1G"),
        device("/dev/sdd", tran="usb", fstype="exfat", size="1G"),
        device("/dev/sr0", rm=True, ro=True, fstype="vfat"),
    ]
    assert parse_sticks(json.dumps({"blockdevices": found})) == (
        Stick("/dev/sdb1", "vfat", "LOGS", "8G", "Flash"),
        Stick("/dev/sdd", "exfat", "", "1G", ""),
    )


@pytest.mark.parametrize("text", ["", "{}", '{"blockdevices": 3}', '{"blockdevices": [3]}', "[]"])
def test_sticks_that_make_no_sense(text: str) -> None:
    assert parse_sticks(text) == ()
