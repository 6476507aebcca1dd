# SPDX-License-Identifier: Apache-2.0
"""Keeps the code that lets people log in where the console of the host finds it, and nobody else."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from muster.cli import log
from muster.errors import MusterError
from muster.files import remove_file, save_file
from muster.model.service_card import LoginCode
from muster.service.auth.codes import OneTimeCode

_LOOK_S: Final = 20.0
"""A code that was used is replaced by another one within this time."""


@contextlib.asynccontextmanager
async def showing_code(code: OneTimeCode | None, path: Path) -> AsyncIterator[None]:
    """The file has the code of each moment until the body ends; then it is gone."""
    task = asyncio.ensure_future(_show(code, path)) if code is not None else None
    try:
        yield
    finally:
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        with contextlib.suppress(MusterError):
            remove_file(path)


async def _show(code: OneTimeCode, path: Path) -> None:
    shown: LoginCode | None = None
    while True:
        now = time.time()
        found = LoginCode(code.show(now), datetime.fromtimestamp(code.expires(now), UTC))
        if found != shown:
            try:
                save_file(path, msgspec.json.encode(found), mode=0o600)
            except MusterError as error:
                log.warn("the console cannot show the login code: %s", error.message)
            shown = found
        await asyncio.sleep(max(0.5, min(_LOOK_S, code.expires(now) - now)))
