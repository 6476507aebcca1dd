# SPDX-License-Identifier: Apache-2.0
"""Runs `muster` for a site in a network of its own, where nobody is but, if wanted, its Kubernetes API.

python -m tests.component.client.apart SITE API ARGUMENT...
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from muster.image.kept import load_secrets
from tests.component.client.scene import serve_api

NETWORK = (
    "ip link set lo up && ip address add 192.168.10.5/24 dev lo && ip address add 192.168.10.11/24 dev lo"
)
NAME = "api.compact.example.com"


def start(site: Path, *arguments: str, api: bool = False) -> subprocess.Popen[str]:
    """`muster` in such a network; it knows no DNS."""
    script = f'{NETWORK} && exec "$@"'
    inner = [sys.executable, "-m", __name__, str(site), "api" if api else "none", *arguments]
    return subprocess.Popen(
        ["unshare", "--net", "sh", "-c", script, "sh", *inner],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TERM": "dumb"},
    )


async def main(site: Path, api: str, *arguments: str) -> int:
    """The exit status of the command."""
    async with AsyncExitStack() as stack:
        if api == "api":
            served = serve_api(site, load_secrets(site), (NAME,), "192.168.10.5:6443")
            (await stack.enter_async_context(served)).nodes = {"master-1": True}
        process = await asyncio.create_subprocess_exec(sys.executable, "-m", "muster.cli", *arguments)
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, process.send_signal, signal.SIGINT)
        return await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:])))
