# SPDX-License-Identifier: Apache-2.0
"""Live images for tests that start no process: those that coreos-installer is tested with."""

from __future__ import annotations

import functools
import lzma
from pathlib import Path

from muster.image.iso.volume import Volume
from muster.image.overlay import Overlay

FOLDER = Path(__file__).parent / "fixtures" / "coreos"
MODERN = "embed-areas-2023-07.x86_64"
S390X = "embed-areas-2023-07.s390x"
WITH_HEADERS = "embed-areas-2021-12"
HEADERS_ONLY = "embed-areas-2021-01"
OLDEST = "embed-areas-2020-09"
ALL = (MODERN, S390X, WITH_HEADERS, HEADERS_ONLY, OLDEST)


@functools.cache
def image(name: str) -> bytes:
    """The bytes of an image."""
    return lzma.decompress((FOLDER / f"{name}.iso.xz").read_bytes())


def volume(data: bytes, name: str = "test.iso") -> Volume:
    """A volume in memory."""
    return Volume(name, lambda offset, length: data[offset : offset + length], len(data))


def applied(data: bytes, overlay: Overlay) -> bytes:
    """An image with an overlay."""
    return overlay.read(lambda offset, length: data[offset : offset + length], 0, overlay.size)


def replaced(data: bytes, offset: int, new: bytes) -> bytes:
    """Other bytes in one place."""
    return data[:offset] + new + data[offset + len(new) :]
