# SPDX-License-Identifier: Apache-2.0
"""The main screen: everything that matters, and never more than there is room for."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from muster import __version__
from muster.board import Notice
from muster.client.snapshot import ServiceSight, Trouble, Why
from muster.client.view import Extent
from muster.console.facts import Facts, HostFacts, Link, Posted
from muster.console.lines import Tone
from muster.console.main_screen import KEYS, render_main
from tests.unit.client.sights import NOON, cluster, host, reason, verdicts
from tests.unit.console.scenes import CODE, ETH0, IPV6, facts, failing

SMALL = Extent(80, 24)
LONG = "a-very-long-name-of-a-host-that-somebody-thought-was-a-good-idea.and.a.domain.example.com"


def shown(found: Facts, extent: Extent = SMALL, message: str = "", late_s: int = 0) -> str:
    lines = render_main(found, NOON + timedelta(seconds=late_s), extent, message)
    return "\n".join(each.text for each in lines)


def test_a_host_that_is_well() -> None:
    text = shown(facts())
    for part in (
        "m-0",
        "rendezvous host",
        "PowerEdge R650, serial ABC123, 32 CPUs, 128 GiB",
        "agent: waiting for instructions (since 12:00 UTC)",
        "eth0 up  192.0.2.10/24",
        "eth1 no link  no address",
        "192.0.2.10 (this host): it answers",
        "https://192.0.2.10:8090",
        "code 8QK2M 7WXNB (once, until 12:09 UTC)",
        "cluster   ready",
        "none fails",
        KEYS,
    ):
        assert part in text


CROWD = facts(
    host=HostFacts(LONG, "Manufacturer of very long names " * 4, "S" * 90, 512, 1 << 42),
    boards=tuple(
        Posted(name, Notice(f"{name} does something long " * 5, NOON, "it cannot " * 30, "do this " * 30))
        for name in ("agent", "rendezvous", "install-notice", "something")
    ),
    links=tuple(Link(f"enp{number}s0f1np1.4000", True, (IPV6, IPV6, IPV6)) for number in range(9)),
    notes=("two hosts of the site have cards of this machine " * 3,) * 5,
    known=failing(40, tuple(f"{LONG}-{number}" for number in range(60))),
)
UNKNOWN = Facts()


@pytest.mark.parametrize("found", [facts(), CROWD, UNKNOWN, facts(known=None, sight=None)])
@pytest.mark.parametrize("extent", [SMALL, Extent(79, 24), Extent(160, 50), Extent(40, 10), Extent(80, 3)])
@pytest.mark.parametrize("message", ["", "something happened " * 20])
def test_it_fits(found: Facts, extent: Extent, message: str) -> None:
    lines = render_main(found, NOON, extent, message)
    assert len(lines) == extent.height
    assert max(len(each.text) for each in lines) <= extent.width
    assert all(each.text.isascii() and each.text.isprintable() for each in lines)
    assert lines[-1].text.startswith("? help")


def test_however_crowded_it_is_everything_has_its_place() -> None:
    text = shown(CROWD)
    for part in (
        "host ",
        "does ",
        "network ",
        "and 7 more (a)",
        "meets at",
        "login",
        "cluster ",
        "checks ",
        "(c)",
    ):
        assert part in text
    assert "57 insufficient" in text or "58 insufficient" in text


def test_what_fails_comes_with_its_fix_and_that_of_this_host_first() -> None:
    lines = [each.text.strip() for each in render_main(facts(known=failing(1, ("a-0", "m-0"))), NOON, SMALL)]
    mine, others = (
        lines.index(f"{name}: check-0 fails: it is not as it should be") for name in ("m-0", "a-0")
    )
    assert mine < others
    assert lines[mine + 1] == "fix: Mend it with the right tool, and wait."


def test_one_that_cannot_go_on_is_told_of_first() -> None:
    boards = (
        Posted("install-notice", Notice("Writing image to disk", NOON, details=("45%",))),
        Posted("agent", Notice("registering with the service", NOON, "nobody answers", "switch it on")),
    )
    lines = render_main(facts(boards=boards), NOON, SMALL)
    texts = [each.text for each in lines]
    assert texts[2].startswith("does      agent: registering with the service")
    assert (lines[3].text.strip(), lines[3].tone) == ("nobody answers", Tone.BAD)
    assert (lines[4].text.strip(), lines[4].tone) == ("fix: switch it on", Tone.HINT)
    assert texts[5].strip() == "installer: Writing image to disk: 45% (since 12:00 UTC)"


def test_a_service_that_does_not_answer() -> None:
    away = ServiceSight(Trouble.SILENT, "connection refused")
    text = shown(facts(sight=away, links=(Link("eth0", True, ("192.0.2.77/24",)),)))
    assert "192.0.2.10 (another host): it does not answer: connection refused" in text
    assert "as last seen" in text
    assert "code" in text
    assert CODE.code not in text


def test_a_code_that_is_over_is_not_shown() -> None:
    assert CODE.code not in shown(facts(), late_s=600)


def test_a_medium_of_no_site() -> None:
    text = shown(facts(meeting=None, sight=None, known=None))
    assert "does not say where the hosts meet" in text
    assert "login" not in text


def installing() -> Facts:
    """What the documentation shows."""
    broken = verdicts(ntp_synced="no time server sets the host's clock; it tried: 192.0.2.1")
    hosts = (
        host("master-0"),
        host("master-1", "insufficient", validations_info=broken),
        host("master-2"),
    )
    fix = "let the host reach one of its time servers (UDP port 123), or name others in additional_ntp_source"
    why = Why(reasons=(reason("ntp-synced", "master-1", fix=fix),))
    known = ServiceSight(at=NOON, cluster=cluster("insufficient", hosts), why=why)
    return facts(
        host=HostFacts("master-0", "Dell Inc. PowerEdge R650", "ABC123", 32, 128 << 30),
        boards=(
            Posted("agent", Notice("checking this host", NOON, details=("ntp-synchronizer",))),
            Posted("rendezvous", Notice("this is the rendezvous host", NOON)),
        ),
        known=known,
        sight=known,
    )


def test_the_screen_in_the_documentation_is_true() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/console.md").read_text("utf-8")
    text = "\n".join(line.rstrip() for line in shown(installing()).split("\n"))
    assert text.replace(__version__, "0.1.0", 1) in page


def test_the_progress_of_all_hosts() -> None:
    hosts = (host("m-0", "installing-in-progress", "Writing image to disk"), host("m-1", "installed"))
    text = shown(facts(known=ServiceSight(at=NOON, cluster=cluster("installing", hosts, 42), why=Why())))
    assert "cluster   installing, 42 %" in text
    assert "m-0  Writing image to disk" in text
    assert "m-1  installed" in text


def test_nothing_that_others_say_does_anything_to_the_terminal() -> None:
    evil = Notice("\x1b[2J\x07 wiped", NOON, "line\nbreak", "\x9b31m")
    text = shown(facts(boards=(Posted("agent", evil),), links=(ETH0,), notes=("\x1b]0;x\x07",)))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "line break" in text


def test_that_there_is_no_card_is_said_when_it_is_known() -> None:
    assert "no network card is known" in shown(facts(links=()))
    assert "no network card is known" not in shown(facts(links=(), has_links=False))
