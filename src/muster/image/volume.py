# SPDX-License-Identifier: Apache-2.0
"""A first look at an image: whether it is an ISO at all, and all of it. A login page of a proxy is none."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from muster.errors import ExternalError, cannot
from muster.image.units import render_size

_DESCRIPTOR_AT: Final = 16 * 2048
_MAGIC: Final = b"\x01CD001"
_BLOCKS: Final = slice(80, 84)
_BLOCK_BYTES: Final = slice(128, 130)


def check_volume(path: Path, shown: str) -> None:
    """Refuse what cannot be a base image, before anything is built from it."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
            file.seek(_DESCRIPTOR_AT)
            descriptor = file.read(2048)
            size = path.stat().st_size
    except OSError as error:
        raise cannot("read", path, error) from error
    if not descriptor.startswith(_MAGIC):
        raise ExternalError(
            f"{shown} is not an ISO image; it begins with {head!r}",
            hint="name a live ISO of the operating system; a URL may lead to the login page of a proxy",
        )
    blocks = int.from_bytes(descriptor[_BLOCKS], "little")
    volume = blocks * int.from_bytes(descriptor[_BLOCK_BYTES], "little")
    if size < volume:
        raise ExternalError(
            f"{shown} is cut short: the ISO says {render_size(volume)}, and {render_size(size)} are there",
            hint="get it again, and compare its sha256 with what its publisher lists",
        )
