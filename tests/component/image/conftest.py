# SPDX-License-Identifier: Apache-2.0
"""A server, a cache, and a way through the door that does not wait between tries."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from muster.image.base_image import BaseImage, obtain_base_image
from muster.image.cache.store import Cache
from muster.image.download.http import Timeouts, http_fetch
from muster.progress import SILENT
from tests.component.image.isos import small_iso
from tests.component.image.web import Web, start_web

Obtain: TypeAlias = Callable[..., BaseImage]
ISO = small_iso()
SHA256 = hashlib.sha256(ISO).hexdigest()


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def web() -> Iterator[Web]:
    with start_web() as web:
        web.files["/base.iso"] = ISO
        yield web


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    with Cache(tmp_path / "cache") as cache:
        yield cache


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited between tries, without waiting."""
    waits: list[float] = []
    monkeypatch.setattr("muster.image.base_image.time.sleep", waits.append)
    return waits


@pytest.fixture
def obtain(cache: Cache, waits: list[float]) -> Obtain:
    def go(source: str, **more: str) -> BaseImage:
        fetch = http_fetch(timeouts=Timeouts(connect_s=5, read_s=5))
        return obtain_base_image(source, cache=cache, fetch=fetch, progress=SILENT, **more)

    return go


@pytest.fixture(autouse=True)
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The messages; the command's own log does not pass them on."""
    caplog.set_level(logging.DEBUG, "muster")
    logging.getLogger("muster").propagate = True
    return caplog
