# SPDX-License-Identifier: Apache-2.0
"""A change of the network: it stays only when somebody keeps it, and it is not worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muster.client.snapshot import ServiceSight, Trouble
from muster.console.network_form import NetworkForm
from muster.run import Said
from tests.component.console.stand import Screen, Stand, console, play

CHECKPOINT = "/org/freedesktop/NetworkManager/Checkpoint/7"
PROFILE = "manual\n192.0.2.10/24\n192.0.2.1\n192.0.2.53\n\ndisabled\n\n\n\n\n"
AWAY = ServiceSight(Trouble.SILENT, "no answer in time")


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    stand = Stand(tmp_path)
    stand.answers["nmcli -g GENERAL.CON-UUID device show eth0"] = Said(0, "u-1\n", "")
    stand.answers["nmcli -e no -g"] = Said(0, PROFILE, "")
    stand.answers["busctl --json=short call"] = Said(0, json.dumps({"type": "o", "data": [CHECKPOINT]}), "")
    return stand


async def fill(screen: Screen, **texts: str) -> None:
    """Open the form of the first interface, and fill it in."""
    await screen.press("f2")
    await screen.shows("Change the network of")
    await screen.press("enter")
    await screen.until(lambda: isinstance(screen.app.screen, NetworkForm) and screen.app.screen.is_mounted)
    form = screen.app.screen
    assert isinstance(form, NetworkForm)
    for name in form.values:
        if name in texts:
            await screen.press("end", *["backspace"] * len(form.values[name]), *texts[name])
        await screen.press("tab")
    await screen.press("f10")


def calls(stand: Stand) -> list[str]:
    """What NetworkManager was told, in order."""
    words = (
        "CheckpointCreate",
        "connection modify",
        "connection up",
        "CheckpointDestroy",
        "CheckpointRollback",
    )
    return [word for each in stand.asked for word in words if word in each]


def test_it_is_kept(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand) as screen:
            await fill(screen, ipv4="192.0.2.20/24")
            await screen.shows("as good as before")
            await screen.press("y")
            await screen.shows("the new network stays")

    play(scene)
    assert calls(stand) == ["CheckpointCreate", "connection modify", "connection up", "CheckpointDestroy"]
    (create,) = stand.asked_for("CheckpointCreate")
    assert create.endswith("CheckpointCreate aouu 0 60 7")
    (change,) = stand.asked_for("connection modify")
    assert "uuid u-1 ipv4.method manual ipv4.addresses 192.0.2.20/24 ipv4.gateway 192.0.2.1" in change
    assert stand.asked_for("CheckpointDestroy")[0].endswith(f"o {CHECKPOINT}")


def test_it_returns_when_nobody_keeps_it(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand) as screen:
            await fill(screen)
            await screen.shows("comes back in 58 s")
            stand.steady = 59.0
            await screen.shows("nobody kept the new network; the old one is back")

    play(scene)
    assert calls(stand)[-1] == "CheckpointRollback"


def test_what_is_worse_cannot_be_kept(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand) as screen:
            await fill(screen)
            await screen.shows("as good as before")
            stand.sight = AWAY
            await screen.shows("It is worse than before")
            await screen.press("y")
            await screen.shows("The service on the rendezvous host does not answer")
            assert "y: keep" not in screen.text
            await screen.press("escape")
            await screen.shows("the old network is back")

    play(scene)
    assert "CheckpointDestroy" not in calls(stand)
    assert calls(stand)[-1] == "CheckpointRollback"


def test_who_was_alone_before_may_keep_it(stand: Stand) -> None:
    stand.sight = AWAY

    async def scene() -> None:
        async with console(stand) as screen:
            await screen.shows("does not answer")
            await fill(screen)
            await screen.shows("as good as before")
            await screen.press("y")
            await screen.shows("the new network stays")

    play(scene)


def test_what_network_manager_refuses_is_taken_back_at_once(stand: Stand) -> None:
    stand.answers["nmcli --wait"] = Said(4, "", "Error: Connection activation failed: no carrier")

    async def scene() -> None:
        async with console(stand) as screen:
            await fill(screen)
            await screen.shows("the network is as it was: NetworkManager refuses: Error: Connection")

    play(scene)
    assert calls(stand)[-1] == "CheckpointRollback"


@pytest.mark.parametrize("said", [Said(1, "", "Access denied"), Said(0, "nonsense", "")])
def test_nothing_is_changed_without_a_way_back(stand: Stand, said: Said) -> None:
    stand.answers["busctl --json=short call"] = said

    async def scene() -> None:
        async with console(stand) as screen:
            await fill(screen)
            await screen.shows("does not remember")

    play(scene)
    assert calls(stand) == ["CheckpointCreate"]


def test_it_was_too_late(stand: Stand) -> None:
    stand.answers["busctl call"] = Said(1, "", "no such checkpoint")

    async def scene() -> None:
        async with console(stand) as screen:
            await fill(screen)
            await screen.shows("as good as before")
            await screen.press("y")
            await screen.shows("it was too late: the old network is back")

    play(scene)


def test_the_form_says_what_cannot_be_and_lets_one_leave(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand) as screen:
            await fill(screen, gateway4="198.51.100.1")
            form = screen.app.screen
            assert isinstance(form, NetworkForm)
            text = await screen.shows("so it cannot be reached")
            assert "  IPv4 gateway                          198.51.100.1|" in text
            assert (form.values["ipv4"], form.values["ipv6"]) == ("192.0.2.10/24", "off")
            assert "Esc: back" in text.splitlines()[-1]
            await screen.press("escape")
            await screen.shows("meets at")

    play(scene)
    assert calls(stand) == []
