# SPDX-License-Identifier: Apache-2.0
"""Somebody chooses before a host of a generic medium where the hosts meet."""

from __future__ import annotations

import asyncio
import io
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.agent.meeting.announcement import Announcement
from muster.agent.meeting.choice import Kind, Standing, Want, Wish
from muster.agent.meeting.place import MeetingPlace
from muster.console.choosing import JoinForm
from muster.console.gathering import Gatherer, Pace, Sources
from muster.console.plain import Hearing, show_plain
from muster.links import Changes
from muster.model.meeting import GENERIC_MARK
from muster.run import Said
from tests.component.console.stand import Screen, Stand, console, play

OTHER = Announcement(1, "192.0.2.20", 8091, "ab" * 32, "host-b")
ASKS = "Where do the hosts meet?"
NEW_LINKS = json.dumps(
    [
        {"ifname": "eth0", "flags": ["LOWER_UP"], "addr_info": [{"local": "192.0.2.10", "prefixlen": 24}]},
        {"ifname": "eth1", "flags": ["LOWER_UP"], "addr_info": [{"local": "fd00::7", "prefixlen": 64}]},
    ]
)


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    stand = Stand(tmp_path)
    (tmp_path / "etc/assisted/rendezvous-host.env").unlink()
    stand.write(GENERIC_MARK.lstrip("/"), "")
    stand.sight = None
    return stand


def place(stand: Stand) -> MeetingPlace:
    return MeetingPlace(stand.root)


async def wish_of(screen: Screen, stand: Stand, before: Wish | None = None) -> Wish:
    """What was wished for."""
    await screen.until(lambda: place(stand).load_wish() not in (None, before), "nothing was wished for")
    wish = place(stand).load_wish()
    assert wish is not None
    return wish


async def form_of(screen: Screen) -> JoinForm:
    await screen.until(lambda: isinstance(screen.app.screen, JoinForm) and screen.app.screen.is_mounted)
    form = screen.app.screen
    assert isinstance(form, JoinForm)
    return form


def test_it_asks_by_itself_and_makes_this_the_rendezvous_host(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand, waits_for=ASKS) as screen:
            await screen.shows("1  This is the rendezvous host, at 192.0.2.10 (eth0)")
            await screen.press("1")
            await screen.shows("Go on?")
            await screen.press("y")
            wish = await wish_of(screen, stand)
            assert (wish.want, wish.ip) == (Want.HERE, "192.0.2.10")
            await screen.shows("This host becomes the rendezvous host at 192.0.2.10")
            here = Standing(Kind.HERE, "192.0.2.10", code="K7QM3XHDP2", handled=wish.name)
            stand.write(
                "etc/assisted/rendezvous-host.env", "NODE_ZERO_IP=192.0.2.10\nCLUSTER_ID=c\nINFRA_ENV_ID=i\n"
            )
            place(stand).save_standing(here)
            await screen.shows("this is the rendezvous host at 192.0.2.10; type its join code")
            await screen.shows("join code K7QM3-XHDP2")

    play(scene)


def test_addresses_and_hosts_that_come_later_appear(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand, waits_for=ASKS) as screen:
            await screen.press("down")
            stand.answers["ip -j -d address"] = Said(0, NEW_LINKS, "")
            place(stand).save_found((OTHER,))
            await screen.shows("2  This is the rendezvous host, at fd00::7 (eth1)")
            text = await screen.shows("3  Join host-b at 192.0.2.20, authority abababab")
            assert "j  Join a rendezvous host by its address" in text
            await screen.press("enter")  # What was chosen stays chosen, wherever it is now.
            form = await form_of(screen)
            assert form.values["ip"] == ""

    play(scene)


def test_a_host_that_was_found_is_joined_with_its_code(stand: Stand) -> None:
    place(stand).save_found((OTHER,))

    async def scene() -> None:
        async with console(stand, waits_for=ASKS) as screen:
            await screen.shows("2  Join host-b")
            await screen.press("2")
            form = await form_of(screen)
            assert form.values["ip"] == "192.0.2.20"
            await screen.press(*"k7qm3xhdp", "enter")
            assert "ten letters and digits" in form.trouble
            await screen.press("2", "enter")
            wish = await wish_of(screen, stand)
            assert (wish.want, wish.ip, wish.code) == (Want.JOIN, "192.0.2.20", "K7QM3XHDP2")
            assert wish.authority == OTHER.authority
            wrong = Standing(handled=wish.name, trouble="the host does not have this code", fix="compare it")
            place(stand).save_standing(wrong)
            again = await form_of(screen)
            assert "does not have this code" in again.trouble
            assert again.values["code"] == "K7QM3-XHDP2"
            await screen.press("backspace", "3", "enter")
            second = await wish_of(screen, stand, wish)
            assert second.code == "K7QM3XHDP3"
            place(stand).save_standing(Standing(Kind.JOINED, "192.0.2.20", handled=second.name))
            await screen.shows("this host joined the rendezvous host at 192.0.2.20")

    play(scene)


def test_who_does_not_answer_yet_is_waited_for_and_one_can_go_away(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand, waits_for=ASKS) as screen:
            await screen.press("j")
            await form_of(screen)
            await screen.press(*"192.0.2.99", "tab", *"k7qm3xhdp2", "f10")
            await wish_of(screen, stand)
            place(stand).save_standing(
                Standing(trouble="no rendezvous host answers; still trying", fix="wait")
            )
            await screen.shows("still trying")
            await screen.press("escape")
            await screen.shows("it goes on; m: choose something else")

    play(scene)


def test_what_was_chosen_on_another_terminal_is_not_asked_here(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand, waits_for=ASKS) as screen:
            place(stand).save_standing(Standing(Kind.JOINED, "192.0.2.20", handled="9"))
            await screen.shows("does      it starts")

    play(scene)


def test_starting_over(stand: Stand) -> None:
    stand.write("etc/assisted/rendezvous-host.env", "NODE_ZERO_IP=192.0.2.10\nCLUSTER_ID=c\nINFRA_ENV_ID=i\n")
    here = Standing(Kind.HERE, "192.0.2.10", code="K7QM3XHDP2", handled="1")
    place(stand).save_standing(here)

    async def scene() -> None:
        async with console(stand) as screen:
            await screen.shows("join code K7QM3-XHDP2")
            await screen.press("m")
            await screen.shows("x  Start over: forget what was chosen")
            await screen.press("x")
            await screen.shows("what was entered on its web page is lost")
            await screen.press("n")
            assert place(stand).load_wish() is None
            await screen.press("m")
            await screen.shows(ASKS)
            await screen.press("x")
            await screen.shows("Go on?")
            await screen.press("y")
            wish = await wish_of(screen, stand)
            assert wish.want is Want.LEAVE
            place(stand).save_standing(replace(here, kind=Kind.LEAVING, handled=wish.name))
            await screen.shows("is being forgotten")
            (stand.root / "etc/assisted/rendezvous-host.env").unlink()
            place(stand).save_standing(Standing(handled=wish.name))
            await screen.shows("nothing is chosen any more")

    play(scene)


def test_a_medium_of_a_site_leaves_no_choice(tmp_path: Path) -> None:
    stand = Stand(tmp_path)

    async def scene() -> None:
        async with console(stand) as screen:
            await screen.press("m")
            await screen.shows("this medium is of a site")

    play(scene)


def test_a_serial_line_shows_the_address_in_words(stand: Stand) -> None:
    stand.write("etc/assisted/rendezvous-host.env", "NODE_ZERO_IP=192.0.2.10\nCLUSTER_ID=c\nINFRA_ENV_ID=i\n")
    place(stand).save_standing(Standing(Kind.HERE, "192.0.2.10", code="K7QM3XHDP2", handled="1"))

    async def scene() -> None:
        async with console(stand) as screen:
            await screen.press("u")
            text = await screen.shows("Where the service is")
            assert "https://192.0.2.10:8090" in text
            assert "█" not in text
            await screen.press("escape")
            await screen.shows("meets at")

    play(scene)


def test_words_are_heard_where_nothing_can_be_drawn(stand: Stand) -> None:
    async def scene() -> None:
        pace = Pace(files_s=0.05, links_s=0.05, service_s=0.05, away_s=0.05)
        gatherer = Gatherer(Sources(stand, stand.look, Changes(), pace))
        read, write = os.pipe()
        said = io.StringIO()
        hearing = Hearing(read, place(stand))
        task = asyncio.ensure_future(
            show_plain(gatherer, said, lambda: datetime.now(UTC), lambda _: asyncio.sleep(0), hearing)
        )
        async with asyncio.timeout(20):
            while "here 192.0.2.10" not in said.getvalue():  # noqa: ASYNC110 - it is the console that says it
                await asyncio.sleep(0.01)
            os.write(write, b"what?\nhere 192.")
            os.write(write, b"0.2.10\r")
            while place(stand).load_wish() is None:  # noqa: ASYNC110 - a file
                await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        os.close(read)
        os.close(write)
        wish = place(stand).load_wish()
        assert wish is not None
        assert (wish.want, wish.ip) == (Want.HERE, "192.0.2.10")
        assert said.getvalue().count("choose by typing") >= 2
        assert "it is being done" in said.getvalue()

    play(scene)
