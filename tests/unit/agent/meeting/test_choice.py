# SPDX-License-Identifier: Apache-2.0
"""What follows from what somebody chose and how the host stands."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest

from muster.agent.meeting.choice import Act, Kind, Sight, Standing, Want, Wish, decide

OWN, OTHER = "192.0.2.10", "192.0.2.20"
SIGHT = Sight((ip_address(OWN), ip_address("fd00::10")))
CODE = "K7QM3-XHDP2"
HERE = Standing(Kind.HERE, OWN, code="K7QM3XHDP2", handled="1")
JOINED = Standing(Kind.JOINED, OTHER, code="K7QM3XHDP2", handled="1")


def wish(want: Want, ip: str = "", **more: Any) -> Wish:
    return Wish("2", want, ip, **{"code": CODE, **more})


def test_nothing_is_done_unasked() -> None:
    for standing in (Standing(), HERE, JOINED):
        assert decide(standing, None, SIGHT).act is Act.REST


@pytest.mark.parametrize("want", Want)
def test_what_was_seen_to_is_not_done_again(want: Want) -> None:
    assert decide(Standing(handled="2"), wish(want, OWN), SIGHT).act is Act.REST


@pytest.mark.parametrize("ip", [OWN, " fd00:0::10 "])
def test_a_host_becomes_the_rendezvous_host(ip: str) -> None:
    assert decide(Standing(), wish(Want.HERE, ip), SIGHT).act is Act.SETTLE


def test_an_address_that_went_away_is_no_place_to_meet() -> None:
    step = decide(Standing(), wish(Want.HERE, OTHER), SIGHT)
    assert (step.act, step.trouble) == (Act.NOTE, f"this host does not have the address {OTHER}")


def test_a_host_joins_another() -> None:
    assert decide(Standing(), wish(Want.JOIN, OTHER), SIGHT).act is Act.JOIN
    assert decide(HERE, wish(Want.JOIN, OTHER), SIGHT).act is Act.JOIN
    assert decide(JOINED, wish(Want.JOIN, "192.0.2.30"), SIGHT).act is Act.JOIN


@pytest.mark.parametrize(
    ("ip", "code", "trouble"),
    [
        ("", CODE, "nothing is no address"),
        ("host-a", CODE, "host-a is no address"),
        (OWN, CODE, "192.0.2.10 is this host itself"),
        (OTHER, "", "that is no code"),
        (OTHER, "1234", "that is no code"),
    ],
)
def test_what_cannot_be_joined_is_told(ip: str, code: str, trouble: str) -> None:
    step = decide(Standing(), wish(Want.JOIN, ip, code=code), SIGHT)
    assert step.act is Act.NOTE
    assert step.trouble.startswith(trouble)
    assert step.fix


def test_another_choice_forgets_the_one_before_first() -> None:
    assert decide(HERE, wish(Want.HERE, "fd00::10"), SIGHT).act is Act.LEAVE
    assert decide(JOINED, wish(Want.HERE, OWN), SIGHT).act is Act.LEAVE


def test_the_same_choice_again_changes_nothing() -> None:
    step = decide(HERE, wish(Want.HERE, OWN), SIGHT)
    assert (step.act, step.trouble) == (Act.NOTE, "")


def test_the_way_back() -> None:
    assert decide(HERE, wish(Want.LEAVE), SIGHT).act is Act.LEAVE
    assert decide(JOINED, wish(Want.LEAVE), SIGHT).act is Act.LEAVE
    assert decide(Standing(), wish(Want.LEAVE), SIGHT).act is Act.NOTE


@pytest.mark.parametrize("asked", [None, wish(Want.HERE, OWN), wish(Want.LEAVE)])
def test_what_was_begun_is_ended_first(asked: Wish | None) -> None:
    assert decide(Standing(Kind.LEAVING, OWN, handled="2"), asked, SIGHT).act is Act.LEAVE


def test_a_host_that_a_medium_configured_has_no_choice() -> None:
    step = decide(Standing(), wish(Want.HERE, OWN), Sight(SIGHT.addresses, is_configured=True))
    assert (step.act, step.trouble) == (Act.NOTE, "this host has the configuration of a site already")
