# SPDX-License-Identifier: Apache-2.0
"""The service of a rendezvous host as a process: python -m tests.browser.serving FOLDER PORT [WORD]...

It shows its login code in a file, as it does for consoles. With `installed` it goes on from a copy of its
data, as it does after the restart of its host. With `hurried` it looks at everything a hundred times as often
as in the world, so that it soon knows what has changed on a host. The release is taken away by renaming its
folder, and others with the rendezvous IP are named in a file.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial
from ipaddress import ip_address
from pathlib import Path

from muster.cli.showing_code import showing_code
from muster.model.meeting import Meeting
from muster.service import engine
from muster.service.hosting import Running
from muster.service.interactive.medium import GenericMedium
from muster.service.interactive.serving import serve_interactive
from muster.service.rendezvous.serving import Here, serve_installed
from muster.service.steps.cadence import PACES, Pace
from muster.serving.listen import open_socket, parse_endpoint

CLUSTER = "11111111-1111-4111-8111-111111111111"
INFRA_ENV = "22222222-2222-4222-8222-222222222222"
CODE = "code"
READY = "ready"
STORE = "parts/store"
RIVALS = "rivals"
HURRIED = "hurried"
HURRY = 100
SILENCE = timedelta(seconds=12)
"""Hosts are heard of at least every five seconds."""
_PATIENT = frozenset({"install", "logs-gather", "stop-installation"})


def hurry() -> None:
    """Look at hosts again much sooner, and miss them sooner."""
    for name, pace in PACES.items():
        if name not in _PATIENT:
            PACES[name] = Pace(pace.deadline / HURRY, pace.again / HURRY, pace.calm / HURRY)
    engine.SILENCE = SILENCE  # type: ignore[misc]


def medium_in(folder: Path) -> GenericMedium:
    """What the host booted from, with a release unless somebody took that away."""
    store = folder / STORE
    ip = ip_address((folder / "rendezvous-ip").read_text())
    return GenericMedium(Meeting(ip, CLUSTER, INFRA_ENV), store=store if store.exists() else None)


def rivals_in(named: Path) -> tuple[str, ...]:
    """Who else has the rendezvous IP."""
    return tuple(named.read_text().split()) if named.exists() else ()


async def find_rivals(named: Path) -> tuple[str, ...]:
    """The same, as a look at the network would tell it."""
    return rivals_in(named)


async def main(folder: Path, port: int, *, is_installed: bool) -> None:
    """Serve until SIGTERM."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    with open_socket(parse_endpoint(f"127.0.0.1:{port}")) as listening:
        serving: AbstractAsyncContextManager[Running]
        if is_installed:
            serving = serve_installed(folder / "disk", listening)
        else:
            here = Here("default", find_rivals=partial(find_rivals, folder / RIVALS))
            serving = serve_interactive(medium_in(folder), folder / "data", listening, here)
        async with serving as running, showing_code(running.login.code, folder / CODE):
            (folder / READY).touch()
            await ended.wait()
            (folder / READY).unlink()


if __name__ == "__main__":
    if HURRIED in sys.argv[3:]:
        hurry()
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), is_installed="installed" in sys.argv[3:]))
