# SPDX-License-Identifier: Apache-2.0
"""The service of a rendezvous host as a process: python -m tests.browser.serving FOLDER PORT [installed].

It shows its login code in a file, as it does for consoles. With `installed` it goes on from a copy of its
data, as it does after the restart of its host.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import AbstractAsyncContextManager
from ipaddress import ip_address
from pathlib import Path

from muster.cli.showing_code import showing_code
from muster.model.meeting import Meeting
from muster.service.hosting import Running
from muster.service.interactive.medium import GenericMedium
from muster.service.interactive.serving import serve_interactive
from muster.service.rendezvous.serving import Here, serve_installed
from muster.serving.listen import open_socket, parse_endpoint

CLUSTER = "11111111-1111-4111-8111-111111111111"
INFRA_ENV = "22222222-2222-4222-8222-222222222222"
CODE = "code"
READY = "ready"


async def main(folder: Path, port: int, *, is_installed: bool) -> None:
    """Serve until SIGTERM."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    with open_socket(parse_endpoint(f"127.0.0.1:{port}")) as listening:
        serving: AbstractAsyncContextManager[Running]
        if is_installed:
            serving = serve_installed(folder / "disk", listening)
        else:
            ip = ip_address((folder / "rendezvous-ip").read_text())
            medium = GenericMedium(Meeting(ip, CLUSTER, INFRA_ENV), store=folder / "parts/store")
            serving = serve_interactive(medium, folder / "data", listening, Here("default"))
        async with serving as running, showing_code(running.login.code, folder / CODE):
            (folder / READY).touch()
            await ended.wait()
            (folder / READY).unlink()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), is_installed="installed" in sys.argv[3:]))
