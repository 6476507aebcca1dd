# SPDX-License-Identifier: Apache-2.0
"""Live images for tests that start no process: those that coreos-installer is tested with, and tiny ones."""

from __future__ import annotations

import functools
import json
import lzma
from collections.abc import Mapping
from datetime import UTC, datetime

from muster.image.iso.volume import Volume
from muster.image.iso.writer import render_iso
from muster.image.overlay import Overlay
from tests.foreign import LIVE_IMAGES

MODERN = "embed-areas-2023-07.x86_64"
S390X = "embed-areas-2023-07.s390x"
WITH_HEADERS = "embed-areas-2021-12"
HEADERS_ONLY = "embed-areas-2021-01"
OLDEST = "embed-areas-2020-09"
ALL = (MODERN, S390X, WITH_HEADERS, HEADERS_ONLY, OLDEST)


@functools.cache
def image(name: str) -> bytes:
    """The bytes of an image."""
    return lzma.decompress((LIVE_IMAGES / f"{name}.iso.xz").read_bytes())


def volume(data: bytes, name: str = "test.iso") -> Volume:
    """A volume in memory."""
    return Volume(name, lambda offset, length: data[offset : offset + length], len(data))


def applied(data: bytes, overlay: Overlay) -> bytes:
    """An image with an overlay."""
    return overlay.read(lambda offset, length: data[offset : offset + length], 0, overlay.size)


def replaced(data: bytes, offset: int, new: bytes) -> bytes:
    """Other bytes in one place."""
    return data[:offset] + new + data[offset + len(new) :]


WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_AREA = b"coreos.liveiso=x ignition.firstboot\n".ljust(128, b"#")
_FILES = {
    "images/ignition.img": bytes(4096),
    "EFI/grub.cfg": b"linux " + _AREA + b"\n",
    "isolinux/isolinux.cfg": b"append " + _AREA + b"\n",
    "isolinux/other.cfg": b"append " + b"another\n".ljust(128, b"#") + b"\n",
    "coreos/features.json": b'{"live-initrd-network": true, "installer-config-directives": {"a": true}}',
}
IGNINFO: dict[str, object] = {"file": "images/ignition.img"}
KARGS: dict[str, object] = {
    "default": "coreos.liveiso=x ignition.firstboot",
    "size": 128,
    "files": [{"path": "EFI/grub.cfg", "offset": 6}, {"path": "isolinux/isolinux.cfg", "offset": 7}],
}


def build(
    igninfo: object = IGNINFO, kargs: object = KARGS, files: Mapping[str, bytes] | None = None
) -> bytes:
    """A tiny live image, with room for 4096 bytes of archive and 127 of kernel arguments."""
    texts = {
        f"coreos/{name}.json": value if isinstance(value, bytes) else json.dumps(value).encode()
        for name, value in (("igninfo", igninfo), ("kargs", kargs))
        if value is not None
    }
    return render_iso({**_FILES, **texts, **(files or {})}, label="L", when=WHEN)
