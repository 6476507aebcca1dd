# SPDX-License-Identifier: Apache-2.0
"""Paths as clients write them: the web interface puts two slashes where one is meant, and one at the end."""

from __future__ import annotations

import re
from typing import Final

from muster.service.edge.answers import App, Receive, Scope, Send

_SLASHES: Final = re.compile(r"//+")


def normalise(path: str, prefix: str) -> str:
    """A path of the interface with single slashes and none at its end; other paths stay as they are."""
    if "//" not in path and not path.endswith("/"):
        return path
    clean = _SLASHES.sub("/", path).rstrip("/")
    return clean if clean == prefix or clean.startswith(f"{prefix}/") else path


class CleanPaths:
    """ASGI middleware."""

    def __init__(self, app: App, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            clean = normalise(path, self._prefix)
            if clean is not path:
                scope = {**scope, "path": clean, "raw_path": clean.encode()}
        await self._app(scope, receive, send)
