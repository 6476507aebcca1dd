# SPDX-License-Identifier: Apache-2.0
"""Finds which ports of a host answer.

python -m tests.component.firewall.probe [--source ADDRESS] SECONDS ADDRESS tcp/22 udp/123 ...

A port where nothing listens answers, too: it refuses. Only what a firewall drops stays silent. Prints those
that answered, one per line, after all did or after so many seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
from collections.abc import Iterable

_AGAIN_S = 0.5


async def knock_tcp(address: str, port: int, source: str) -> None:
    try:
        local = (source, 0) if source else None
        _, writer = await asyncio.open_connection(address, port, local_addr=local)
    except ConnectionRefusedError:
        return
    writer.close()


async def knock_udp(address: str, port: int, source: str) -> None:
    """Hosts limit how often they refuse, so it is tried again."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    loop = asyncio.get_running_loop()
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        if source:
            sender.bind((source, 0))
        sender.connect((address, port))
        while True:
            try:
                sender.send(b"?")
                async with asyncio.timeout(_AGAIN_S):
                    await loop.sock_recv(sender, 64)
            except TimeoutError:
                continue
            except ConnectionRefusedError:
                return
            else:
                return


async def probe(deadline_s: float, address: str, ports: Iterable[str], source: str = "") -> list[str]:
    knocks = {"tcp": knock_tcp, "udp": knock_udp}
    tasks = {
        name: asyncio.create_task(knocks[protocol](address, int(number), source))
        for name in ports
        for protocol, _, number in [name.partition("/")]
    }
    done, waiting = await asyncio.wait(tasks.values(), timeout=deadline_s)
    for task in waiting:
        task.cancel()
    return [name for name, task in tasks.items() if task in done and task.exception() is None]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", default="", help="call from this address")
    parser.add_argument("seconds", type=float)
    parser.add_argument("address")
    parser.add_argument("ports", nargs="+")
    given = parser.parse_args()
    answered = asyncio.run(probe(given.seconds, given.address, given.ports, given.source))
    sys.stdout.write("".join(f"{name}\n" for name in answered))


if __name__ == "__main__":
    main()
