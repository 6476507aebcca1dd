# SPDX-License-Identifier: Apache-2.0
"""Screens with all of something."""

from __future__ import annotations

import pytest

from muster.client.view import Extent
from muster.console.detail_screens import (
    render_checks,
    render_help,
    render_hosts,
    render_journal,
    render_links,
    render_page,
)
from muster.console.lines import Line, Tone
from tests.unit.console.scenes import facts, failing


def test_checks_are_told_whole() -> None:
    lines = render_checks(facts(known=failing(2)), 80)
    text = "\n".join(each.text for each in lines)
    assert text.count("check-1 fails: it is not as it should be") == 2
    assert text.count("why: Without it nothing works.") == 4
    assert text.count("fix: Mend it with the right tool, and wait.") == 4


def test_that_no_check_fails_is_known_only_from_the_service() -> None:
    assert render_checks(facts(), 80) == [Line("no check fails", Tone.GOOD)]
    assert "not told" in render_checks(facts(known=None), 80)[0].text


def test_all_hosts_are_there() -> None:
    known = failing(0, tuple(f"m-{number}" for number in range(50)))
    assert len(render_hosts(facts(known=known), 80)) == 50
    assert "not told" in render_hosts(facts(known=None), 80)[0].text


def test_all_addresses_are_there() -> None:
    texts = [each.text for each in render_links(facts(), 80)]
    assert texts == [
        "eth0: up, 52:54:00:00:00:01",
        "    192.0.2.10/24",
        "    fe80::1/64",
        "eth1: no link, 52:54:00:00:00:02",
        "    no address",
    ]


def test_lines_of_the_journal_are_wrapped_and_not_cut() -> None:
    lines = render_journal(f"first\n{'word ' * 40}\n\x1b[31mred", 80)
    assert " ".join(each.text for each in lines).count("word") == 40
    assert all(len(each.text) <= 80 and each.text.isprintable() for each in lines)


@pytest.mark.parametrize("width", [40, 80, 132])
def test_help_fits(width: int) -> None:
    assert max(len(each.text) for each in render_help(width)) <= width


@pytest.mark.parametrize(("offset", "first", "last"), [(0, 0, 20), (50, 50, 70), (1000, 79, 99), (-5, 0, 20)])
def test_a_page_is_full_wherever_it_begins(offset: int, first: int, last: int) -> None:
    lines = [Line(f"line {number}") for number in range(100)]
    page = [each.text for each in render_page("Name", lines, offset, Extent(80, 24))]
    assert len(page) == 24
    assert (page[1], page[21]) == (f"line {first}", f"line {last}")
    assert f"{first + 1}-{last + 1} of 100" in page[0]
