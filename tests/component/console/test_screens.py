# SPDX-License-Identifier: Apache-2.0
"""Keys of the console, on screens that Textual draws."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from muster.client.snapshot import ServiceSight, Trouble
from muster.console.app import ConsoleApp
from muster.console.running import SHELL
from muster.errors import ExternalError
from muster.run import Said
from tests.component.console.stand import Stand, console, play
from tests.unit.console.scenes import failing


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    return Stand(tmp_path)


def test_every_page_and_back(stand: Stand) -> None:
    stand.sight = failing(12)
    stand.answers["journalctl"] = Said(0, "agent[1]: first\nagent[1]: second\n", "")

    async def scene() -> None:
        async with console(stand) as screen:
            pages = {"f1": "this page", "c": "check-0 fails", "h": "m-1", "a": "eth1: no link", "l": "second"}
            for key, words in pages.items():
                await screen.press(key)
                await screen.shows(words)
                await screen.press("escape")
                await screen.shows("meets at")
            await screen.press("c")
            await screen.shows("1-21 of")
            await screen.press("pagedown", "down")
            await screen.shows("22-42 of")
            await screen.press("end", "home")
            await screen.shows("1-21 of")

    play(scene)
    assert stand.asked_for("--unit=muster-*")


def test_what_changes_is_shown(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand) as screen:
            await screen.shows("it answers")
            stand.write(
                "run/muster/agent.json",
                json.dumps({"doing": "checking this host", "since": "2026-03-01T11:00:00Z"}),
            )
            await screen.shows("agent: checking this host (since 11:00 UTC)")
            stand.sight = ServiceSight(Trouble.SILENT, "connection refused")
            await screen.shows("it does not answer: connection refused")
            stand.write(
                "run/muster/login-secret",
                json.dumps({"code": "11111 22222", "until": "2026-03-01T12:05:00Z"}),
            )
            await screen.shows("11111 22222")

    play(scene)


def test_only_rows_that_changed_are_drawn(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand) as screen:
            await screen.pilot.pause()
            view = screen.app.screen.query_one("LinesView")
            drawn: list[int] = []
            before = type(view).render_line

            def render_line(self, y):  # type: ignore[no-untyped-def]
                drawn.append(y)
                return before(self, y)

            view.render_line = render_line.__get__(view)  # type: ignore[method-assign]
            screen.app.tell("something happened")
            await screen.shows("something happened")
            await screen.until(lambda: bool(drawn))
            assert set(drawn) == {22}

    play(scene)


@pytest.mark.parametrize(
    "garbage", ["", "{", "[]", '{"doing": 3}', '{"doing": "x", "since": "never"}', "\x00\x01"]
)
def test_garbage_in_boards_is_nothing(stand: Stand, garbage: str) -> None:
    for name in ("agent.json", "rendezvous.json", "login-secret", "install.json"):
        stand.write(f"run/muster/{name}", garbage)
    stand.write("etc/issue.d/70-muster.issue", garbage + "\x1b[2J\n")

    async def scene() -> None:
        async with console(stand) as screen:
            await screen.press("c", "escape", "h", "escape")
            assert "m-0" in await screen.shows("it starts")

    play(scene)


def test_checks_are_made_again(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand) as screen:
            await screen.press("r")
            await screen.shows("told anew")
            stand.answers["systemctl kill"] = Said(1, "", "Unit muster-agent.service not loaded.")
            await screen.press("r")
            await screen.shows("cannot be told: Unit muster-agent.service not loaded.")

    play(scene)
    assert stand.asked_for("systemctl kill --kill-whom=main --signal=HUP muster-agent.service")


STICK = {"path": "/dev/sdz", "rm": True, "children": [{"path": "/dev/sdz1", "fstype": "vfat", "size": "8G"}]}


def test_a_bundle_goes_to_a_stick(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand) as screen:
            await screen.press("b")
            await screen.shows("there is no USB stick")
            stand.answers["lsblk"] = Said(0, json.dumps({"blockdevices": [STICK]}), "")
            stand.answers["muster host bundle"] = Said(0, "some words\n/place/bundle.tar.gz\n", "")
            await screen.press("b")
            await screen.shows("/dev/sdz1  8G  vfat")
            await screen.press("enter")
            await screen.shows("bundle.tar.gz is on /dev/sdz1")

    play(scene)
    mount, bundle, umount = (stand.asked_for(each)[0] for each in ("mount -o", "host bundle", "umount"))
    place = mount.rpartition(" ")[2]
    assert mount.startswith("mount -o nosuid,nodev,noexec /dev/sdz1 /")
    assert bundle == f"muster host bundle --to {place}"
    assert umount == f"umount {place}"
    assert not Path(place).exists()
    assert not Path(place).is_relative_to(stand.root / "run/muster"), "what is there goes into the bundle"


def test_a_bundle_that_cannot_be_is_explained_and_the_stick_let_go(stand: Stand) -> None:
    stand.answers["lsblk"] = Said(0, json.dumps({"blockdevices": [STICK]}), "")
    stand.answers["muster host bundle"] = Said(1, "", "error: no space left on device")

    async def scene() -> None:
        async with console(stand) as screen:
            await screen.press("b")
            await screen.shows("/dev/sdz1")
            await screen.press("enter")
            await screen.shows("no bundle was written: error: no space left on device")

    play(scene)
    assert stand.asked_for("umount")


def test_a_shell_is_not_for_everybody(stand: Stand) -> None:
    async def scene() -> None:
        async with console(stand) as screen:
            await screen.press("s")
            await screen.shows("no shell: the site gave no SSH key for core")
            stand.write("home/core/.ssh/authorized_keys.d/ignition", "ssh-ed25519 AAAA me\n")
            await screen.press("s")
            await screen.shows("the site gave an SSH key for core")
            await screen.press("n")
            await screen.shows("meets at")
            await screen.press("s")
            await screen.shows("`exit` comes back")
            await screen.press("y")
            await screen.until(lambda: screen.app.return_value == SHELL)

    play(scene)


def test_an_action_that_fails_is_a_line_and_not_the_end(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: ConsoleApp) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(ConsoleApp, "_check_again", broken)

    async def scene() -> None:
        async with console(stand) as screen:
            await screen.press("r")
            await screen.shows("a bug in Muster: ZeroDivisionError")
            await screen.press("h")
            await screen.shows("Hosts")

    play(scene)


def test_a_source_that_fails_leaves_the_others(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken() -> ServiceSight:
        raise ExternalError("the world is gone")

    monkeypatch.setattr(stand, "look", broken)

    async def scene() -> None:
        async with console(stand) as screen:
            stand.write("proc/sys/kernel/hostname", "another\n")
            await screen.shows("another")

    play(scene)


@pytest.mark.parametrize("size", [(80, 24), (132, 50), (60, 15)])
def test_it_fits_on_terminals(stand: Stand, size: tuple[int, int]) -> None:
    stand.sight = replace(failing(30))

    async def scene() -> None:
        async with console(stand, size) as screen:
            lines = (await screen.shows("check")).split("\n")
            assert len(lines) == size[1]
            assert lines[-1].startswith("? help")

    play(scene)
