# SPDX-License-Identifier: Apache-2.0
"""`muster host rendezvous`: the service of a site, on the host that all others come to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muster.cli import log, options
from muster.cli.loop import run_async

if TYPE_CHECKING:
    from muster.board import Board
    from muster.machine import Machine
    from muster.model.meeting import Meeting
    from muster.service.hosting import Running
    from muster.service.rendezvous.clock import Judgement

DATA: Final = Path("/var/lib/muster/service")
_LOOK_S: Final = 30.0
_CONSENT_S: Final = 2.0
_LINGER_S: Final = 600.0
"""How long somebody can still ask how it ended, before the service removes itself."""


@click.command(epilog=options.examples("muster host rendezvous", "muster host rendezvous --installed"))
@click.option("--installed", is_flag=True, help="From the host's disk: see the installation to its end.")
@click.option("--data", metavar="DIR", type=click.Path(path_type=Path), default=DATA, show_default=True)
@options.log_level
def rendezvous(installed: bool, data: Path, log_level: str | None) -> None:
    """Serve the site of the medium that this host booted, as soon as it has the rendezvous IP.

    It waits for that address for ever: a cable may be plugged in after an hour. With --installed it goes on
    from the host's own disk with what was handed over there, and ends when the cluster is complete.
    """
    options.begin_without_site(log_level)
    run_async(lambda: _run_installed(data) if installed else _run_live(data))


async def _run_live(data: Path) -> None:
    from muster.machine import ThisMachine
    from muster.service.rendezvous.reading import load_meeting

    machine, board = ThisMachine(), _board()
    meeting = load_meeting(machine.root)
    await _wait_for_address(meeting, board)
    await _serve_live(machine, meeting, board, data)


async def _serve_live(machine: Machine, meeting: Meeting, board: Board, data: Path) -> None:
    """Serve here. What that takes is loaded now, and never on hosts that do not serve."""
    from muster.cli.host_clock import clock_board
    from muster.cli.host_rendezvous_clock import put_right, tell_others
    from muster.cli.host_rendezvous_interactive import Showing, run_interactive
    from muster.clock import SystemClock
    from muster.service.interactive.medium import has_site
    from muster.service.interactive.medium import load_window as load_generic_window
    from muster.service.rendezvous.medium import load_medium, load_window
    from muster.service.rendezvous.serving import Here, listeners_of, serve_live

    root, clock = machine.root, SystemClock()
    await _wait_for_consent(machine, meeting, board)
    is_generic = not has_site(root)
    window = load_generic_window(root) if is_generic else load_window(root)
    judgement, change = await put_right(machine, clock, clock_board(clock), window)
    virt = await machine.ask(["systemd-detect-virt", "--vm"], deadline_s=10)
    tuning = "emulated" if virt.out.strip() == "qemu" else "default"
    here = Here(tuning, change, _rivals(machine, meeting, board, judgement))
    if is_generic:
        await run_interactive(machine, data, here, Showing(board, judgement))
        return
    medium, listening = load_medium(root), listen()

    async def for_ever(running: Running) -> None:
        board.show(serving_at(running.url), trouble=judgement.trouble, fix=judgement.fix)
        await tell_others(machine, listeners_of(medium.plan))
        await asyncio.Event().wait()

    await serve(lambda: serve_live(medium, data, listening, here), board, for_ever)


async def _wait_for_consent(machine: Machine, meeting: Meeting, board: Board) -> None:
    """A host that installed this very site and boots the medium again does not erase it unasked."""
    from muster.board import FOLDER
    from muster.node.handing_over import is_rendezvous
    from muster.node.marks import START_OVER, find_marked

    if is_rendezvous(machine):
        return  # The service was here before in this life of the host: the mark is of this installation.
    disk = await find_marked(machine, meeting.cluster_id)
    while disk and not (FOLDER / START_OVER).exists():
        doing = f"this host booted the installation medium again instead of its disk {disk}"
        fix = (
            "remove the medium, or set the boot order in the setup of the firmware, and restart this host; "
            f"to install the site anew and lose what is on the disk: touch {FOLDER / START_OVER}"
        )
        board.show(doing, trouble="this site is installed on that disk already", fix=fix)
        await asyncio.sleep(_CONSENT_S)


def _rivals(
    machine: Machine, meeting: Meeting, board: Board, judgement: Judgement
) -> Callable[[], Awaitable[tuple[str, ...]]]:
    """Looks who else has the rendezvous IP, and says so on the board of this host."""
    from muster.agent.claims import find_rivals

    async def look() -> tuple[str, ...]:
        found = await find_rivals(machine, meeting.ip)
        trouble, fix = judgement.trouble, judgement.fix
        if found:
            trouble = f"{', '.join(found)} also has the rendezvous IP {meeting.ip}"
            fix = "give the other machine another address, or switch it off; nothing is installed meanwhile"
        board.show(serving_at(meeting.url), trouble=trouble, fix=fix)
        return found

    return look


def serving_at(url: str) -> str:
    """What the board says of a service that runs."""
    return f"this is the rendezvous host; the service is at {url}"


async def _run_installed(data: Path) -> None:
    from muster.service.rendezvous.kept import load_kept
    from muster.service.rendezvous.serving import serve_installed, wait_until_installed

    kept, board = load_kept(data), _board()
    await _wait_for_address(kept.meeting, board)
    listening = listen()

    async def until_installed(running: Running) -> None:
        await wait_until_installed(running, kept.cluster_id)
        log.say("the cluster is installed; the service removes itself in %d minutes", _LINGER_S // 60)
        await asyncio.sleep(_LINGER_S)

    await serve(lambda: serve_installed(data, listening), board, until_installed)
    _remove(data)


async def _wait_for_address(meeting: Meeting, board: Board) -> None:
    """Until this host has the rendezvous IP, however long that takes."""
    from muster.links import find_addresses, find_taken, open_changes

    async with open_changes() as changes:
        while meeting.ip not in (found := await find_addresses()):
            seen = ", ".join(map(str, found)) or "none"
            is_taken = meeting.ip in await find_taken()
            trouble = (
                f"this host was given {meeting.ip}, which another machine has already" if is_taken else ""
            )
            board.show(
                f"the hosts meet at {meeting.ip}, which is not this one",
                trouble=trouble,
                fix="give one of the two another address" if is_taken else "",
                details=(f"addresses here: {seen}",),
            )
            await changes.wait(_LOOK_S)


async def serve(
    serving: Callable[[], AbstractAsyncContextManager[Running]],
    board: Board,
    until: Callable[[Running], Awaitable[None]],
) -> None:
    """Serve until something is over, with a code on the console."""
    from muster.board import FOLDER
    from muster.cli.notify import tell_systemd
    from muster.cli.showing_code import showing_code
    from muster.model.service_card import LOGIN_FILE

    async with serving() as running:
        log.say("serving at %s", running.url)
        board.show(serving_at(running.url))
        tell_systemd("READY=1")
        async with showing_code(running.login.code, FOLDER / LOGIN_FILE):
            await until(running)
        tell_systemd("STOPPING=1")


def listen() -> socket.socket:
    """Where the service of a site listens."""
    from muster.model.meeting import SERVICE_PORT
    from muster.serving.listen import open_socket, parse_endpoint, raise_file_limit

    raise_file_limit()
    return open_socket(parse_endpoint(f":{SERVICE_PORT}"), "the service")


def _board() -> Board:
    from muster.board import FOLDER, Board
    from muster.clock import SystemClock

    return Board(FOLDER / "rendezvous.json", SystemClock().now)


def _remove(data: Path) -> None:
    """Nothing that nobody asked for stays on the host."""
    import shutil

    shutil.rmtree(data, ignore_errors=True)
