# SPDX-License-Identifier: Apache-2.0
"""What comes from the network is from anybody: it is bounded, and does nothing to a screen."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.agent.meeting.announcement import (
    AGE_S,
    MOST,
    Announcement,
    Ear,
    forget_old,
    hear,
    parse_announcement,
    render_announcement,
)

DIGEST = "ab" * 32


def one(**changed: Any) -> dict[str, Any]:
    return {"muster": 1, "ip": "192.0.2.10", "port": 8091, "authority": DIGEST, "name": "host-a", **changed}


def sent(**changed: Any) -> bytes:
    return msgspec.json.encode(one(**changed))


def test_it_is_read_as_it_was_sent() -> None:
    for ip in ("192.0.2.10", "fd00::10"):
        announcement = Announcement(1, ip, 8091, DIGEST, "host-a")
        assert parse_announcement(render_announcement(announcement)) == announcement


@pytest.mark.parametrize(
    "changed",
    [
        {"muster": 2},
        {"ip": "nowhere"},
        {"ip": "239.255.80.90"},
        {"ip": "0.0.0.0"},
        {"ip": "127.0.0.1"},
        {"ip": "fe80::1%eth0"},
        {"port": 0},
        {"port": 65536},
        {"port": "8091"},
        {"authority": "ab"},
        {"authority": "AB" * 32},
        {"name": 7},
        {"name": "x" * 512},
    ],
)
def test_nonsense_is_nothing(changed: dict[str, Any]) -> None:
    assert parse_announcement(sent(**changed)) is None


@given(st.binary(max_size=600))
def test_no_bytes_do_harm(data: bytes) -> None:
    assert parse_announcement(data) is None


def test_a_name_does_nothing_to_a_screen() -> None:
    found = parse_announcement(sent(name="\x1b[2Jhost\na"))
    assert found is not None
    assert found.name == "\\x1b[2Jhost a"
    long = parse_announcement(sent(name="n" * 200))
    assert long is not None
    assert len(long.name) == 63


def test_who_was_heard_is_known_for_a_while() -> None:
    ear = hear(Ear(), sent(), 100.0)
    ear = hear(ear, sent(ip="fd00::20", name="host-b"), 110.0)
    assert [each.name for each in ear.announcements] == ["host-a", "host-b"]
    assert [each.name for each in forget_old(ear, 100.0 + AGE_S).announcements] == ["host-b"]
    again = hear(ear, sent(), 115.0)
    assert forget_old(again, 100.0 + AGE_S).announcements == ear.announcements


def test_a_flood_drives_nobody_out_and_costs_little() -> None:
    ear = hear(Ear(), sent(), 100.0)
    for number in range(1000):
        ear = hear(ear, sent(ip=f"198.51.100.{number % 250}", name="x"), 101.0 + number / 10_000)
    assert len(ear.announcements) == MOST
    assert any(each.name == "host-a" for each in ear.announcements)
    assert hear(ear, sent(name="new name"), 101.5).announcements == ear.announcements  # Too many just now.
    assert any(each.name == "new name" for each in hear(ear, sent(name="new name"), 103.0).announcements)
