# SPDX-License-Identifier: Apache-2.0
"""What can be chosen before a host of a generic medium, and how its screen tells of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from muster.agent.meeting.announcement import Announcement
from muster.agent.meeting.choice import Kind, Standing, Want, Wish
from muster.board import Notice
from muster.client.view import Extent
from muster.console.facts import Choice, Facts, Link, Posted
from muster.console.main_screen import render_main
from muster.console.menu import menu_of, questions_of
from muster.console.plain import parse_command, render_plain
from muster.console.qr import login_url, render_qr, render_where
from muster.model.service_card import ServiceCard
from tests.unit.client.sights import NOON
from tests.unit.console.scenes import ETH0, ETH1, facts

PRINT = ":".join(f"{number:02X}" for number in range(32))
CARD = ServiceCard("https://192.0.2.10:8090", PRINT, "PEM")
OTHER = Announcement(1, "192.0.2.20", 8091, "ab" * 32, "host-b")
OPEN = Standing()
HERE = Standing(Kind.HERE, "192.0.2.10", code="K7QM3XHDP2")
SMALL = Extent(80, 24)


def generic(standing: Standing = OPEN, **changed: Any) -> Facts:
    """A host of a generic medium, before anything was chosen."""
    found = changed.pop("found", ())
    fresh = (
        {"meeting": None, "sight": None, "known": None, "code": None} if standing.kind is Kind.OPEN else {}
    )
    return facts(**{**fresh, "choice": Choice(standing, found), **changed})


def shown(known: Facts) -> str:
    return "\n".join(each.text.rstrip() for each in render_main(known, NOON, SMALL))


def test_own_addresses_and_announced_hosts_can_be_chosen() -> None:
    eth2 = Link("eth2", True, ("fd00::10/64",))
    found = menu_of(generic(links=(ETH0, ETH1, eth2), found=(OTHER,)))
    assert [(each.want, each.ip) for each in found] == [
        (Want.HERE, "192.0.2.10"),
        (Want.HERE, "fd00::10"),
        (Want.JOIN, "192.0.2.20"),
        (Want.JOIN, ""),
    ]
    assert (found[2].port, found[2].authority) == (8091, "ab" * 32)
    assert found[0].text == "This is the rendezvous host, at 192.0.2.10 (eth0)"
    assert found[2].text == "Join host-b at 192.0.2.20, authority abababab"


def test_the_way_back_is_offered_when_something_was_chosen() -> None:
    assert menu_of(generic(HERE))[-1].want is Want.LEAVE
    assert all(each.want is not Want.LEAVE for each in menu_of(generic()))
    assert menu_of(facts()) == []


def test_what_would_be_lost_is_told_before() -> None:
    here, *_, by_hand = menu_of(generic())
    assert len(questions_of(here, generic())) == 2
    assert questions_of(by_hand, generic()) == []
    leave = menu_of(generic(HERE))[-1]
    busy = generic(HERE, boards=(Posted("install-notice", Notice("writing", NOON)),))
    assert any("web page is lost" in each for each in questions_of(leave, generic(HERE)))
    assert any("being installed" in each for each in questions_of(leave, busy))


def test_an_open_choice_is_seen() -> None:
    text = shown(generic(found=(OTHER,)))
    assert "meets at  not chosen yet: press m" in text
    assert "found     host-b at 192.0.2.20, authority abababab" in text
    assert "m meeting" in text.splitlines()[-1]
    assert "m meeting" not in shown(facts()).splitlines()[-1]


@pytest.mark.parametrize("kind", [Kind.HERE, Kind.JOINED])
def test_all_consoles_show_where_the_service_is_and_how_to_get_in(kind: Kind) -> None:
    links = (ETH0,) if kind is Kind.HERE else (Link("eth0", True, ("192.0.2.30/24",)),)
    text = shown(generic(Standing(kind, "192.0.2.10", code="K7QM3XHDP2"), card=CARD, links=links))
    assert "service   https://192.0.2.10:8090" in text
    assert ("login     code 8QK2M 7WXNB (once, until 12:09 UTC)\n" in text) == (kind is Kind.HERE)
    assert ("login     the code on the rendezvous host's console\n" in text) == (kind is Kind.JOINED)
    assert f"SHA-256   {PRINT[:47]}\n          {PRINT[48:]}\n" in text
    assert "join code K7QM3-XHDP2: type it on each host that is to join" in text
    assert "kubeadmin-password" not in text


def test_a_site_shows_its_code_on_the_rendezvous_host_alone() -> None:
    assert "8QK2M 7WXNB" in shown(facts())
    assert "8QK2M 7WXNB" not in shown(facts(links=(Link("eth0", True, ("192.0.2.30/24",)),)))


def test_the_address_for_telephones_has_the_code_where_no_server_sees_it() -> None:
    known = generic(HERE, card=CARD)
    assert login_url(known, NOON) == "https://192.0.2.10:8090/#code=8QK2M7WXNB"
    assert login_url(known, NOON + timedelta(hours=1)) == "https://192.0.2.10:8090/"
    assert login_url(generic(), NOON) == ""


@pytest.mark.parametrize(
    "url",
    [
        "https://192.0.2.10:8090/#code=8QK2M7WXNB",
        "https://[fd00:1234:5678:9abc:def0:1234:5678:9abc]:8090/#code=8QK2M7WXNB",
    ],
)
def test_a_qr_code_fits_and_is_what_was_meant(url: str) -> None:
    lines = render_qr(url, Extent(80, 22))
    assert 0 < len(lines) <= 22
    assert {*"".join(lines)} <= {*" ▀▄█"}
    assert lines[0] == "█" * len(lines[0])  # Light all around, on a dark screen.
    modules = [
        [char in " ▄" if half == 0 else char in " ▀" for char in line] for line in lines for half in (0, 1)
    ]
    border = next(number for number, row in enumerate(modules) if any(row))
    finder = modules[border][border : border + 7]
    assert finder == [True] * 7
    assert modules[border + 1][border : border + 7] == [True, *[False] * 5, True]


def test_what_does_not_fit_is_left_out() -> None:
    assert render_qr("https://192.0.2.10:8090/", Extent(80, 5)) == []


@pytest.mark.parametrize("with_blocks", [True, False])
def test_the_page_says_it_in_words_too(with_blocks: bool) -> None:
    lines = render_where(generic(HERE, card=CARD), NOON, SMALL, with_blocks=with_blocks)
    text = "\n".join(each.text for each in lines)
    assert len(lines) <= 24
    assert all(len(each.text) <= 80 for each in lines)
    assert ("█" in text) is with_blocks
    for words in ("https://192.0.2.10:8090", "login code 8QK2M 7WXNB", "00:01:02:03:04:05:06:07", "18:19:1A"):
        assert words in text


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("here 192.0.2.10", Wish("1", Want.HERE, "192.0.2.10")),
        ("  JOIN fd00::20 k7qm3 xhdp2 ", Wish("1", Want.JOIN, "fd00::20", "k7qm3xhdp2")),
        ("leave", Wish("1", Want.LEAVE)),
        ("", None),
        ("here", None),
        ("here 192.0.2.10 now", None),
        ("join 192.0.2.20", None),
        ("leave 192.0.2.20", None),
        ("rm -rf /", None),
    ],
)
def test_words_instead_of_keys(text: str, wish: Wish | None) -> None:
    assert parse_command(text, "1") == wish


def test_plain_text_says_what_to_type() -> None:
    text = render_plain(generic(found=(OTHER,)), NOON)
    assert "  here 192.0.2.10\n  join 192.0.2.20 CODE\n  join ADDRESS CODE\n" in text
    assert "choose by typing" in text
    assert "choose by typing" not in render_plain(facts(), NOON)


def test_a_second_rendezvous_host_is_told() -> None:
    note = "note      another rendezvous host (m): host-b at 192.0.2.20, authority abababab"
    assert note in shown(generic(HERE, found=(OTHER,)))
    joined = Standing(Kind.JOINED, "fd00::20", authority="ab" * 32)
    assert "another rendezvous host" not in shown(generic(joined, found=(OTHER,)))
    assert "another rendezvous host" not in shown(generic(found=(OTHER,)))
