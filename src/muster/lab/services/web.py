# SPDX-License-Identifier: Apache-2.0
"""Files for the lab's machines by HTTP, such as those of a boot from the network."""

from __future__ import annotations

import sys
from pathlib import Path

from muster.lab.services.service import Service


def describe_web(root: Path, *, address: str, port: int = 80) -> Service:
    """The web server of Python's standard library."""
    return Service(
        name="web",
        argv=(
            *(sys.executable, "-u", "-m", "http.server", str(port)),
            *("--bind", address, "--directory", str(root)),
        ),
        ready="Serving HTTP on",
    )
