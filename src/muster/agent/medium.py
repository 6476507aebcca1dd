# SPDX-License-Identifier: Apache-2.0
"""Whether the medium that the host booted can still be read: without it half of the system is gone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Final

from muster.machine import Machine

_MOUNT: Final = "run/media/iso"
_DEADLINE_S: Final = 10.0
_SECTOR: Final = 2048


async def find_medium_trouble(machine: Machine) -> str:
    """Why the medium cannot be read; empty when it can, or when the host needs none."""
    place = machine.root / _MOUNT
    if not place.is_dir():
        return ""
    said = await machine.ask(
        ["findmnt", "--json", "--output", "SOURCE", "--target", f"/{_MOUNT}"], deadline_s=_DEADLINE_S
    )
    source = parse_source(said.out) if said.is_ok else ""
    if not source.startswith("/dev/"):
        return ""
    try:
        async with asyncio.timeout(_DEADLINE_S):
            return await asyncio.to_thread(_read, machine.root / source.lstrip("/"), source)
    except TimeoutError:
        return f"cannot read the installation medium {source}: it does not answer"


def parse_source(text: str) -> str:
    """The device in what findmnt says."""
    try:
        return str(json.loads(text)["filesystems"][0]["source"])
    except (ValueError, KeyError, IndexError, TypeError):
        return ""


def _read(path: Path, source: str) -> str:
    try:
        with path.open("rb", buffering=0) as file:
            file.read(_SECTOR)
    except OSError as error:
        return f"cannot read the installation medium {source}: {(error.strerror or str(error)).lower()}"
    return ""
