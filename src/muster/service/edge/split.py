# SPDX-License-Identifier: Apache-2.0
"""Which part of the service a request is for: media, the interface, or the page for browsers."""

from __future__ import annotations

from typing import Final, Protocol

from muster.service.edge.answers import App, Receive, Scope, Send

_MEDIA: Final = ("/byid/", "/bytoken/", "/byapikey/", "/images/", "/boot-artifacts/")
_API: Final = "/api"
_LOOKS: Final = ("GET", "HEAD")


class Interface(Protocol):
    """The operations."""

    def has(self, path: str) -> bool:
        """Whether a path is one of theirs."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class Split:
    """Media here, the interface there; who looks at something that is of neither asks for the page."""

    def __init__(self, interface: Interface, media: App, page: App) -> None:
        self._interface, self._media, self._page = interface, media, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._choose(scope)(scope, receive, send)

    def _choose(self, scope: Scope) -> App:
        path: str = scope.get("path", "")
        if path.startswith(_MEDIA):
            return self._media
        is_look = scope.get("method") in _LOOKS
        if is_look and not path.startswith(_API) and not self._interface.has(path):
            return self._page
        return self._interface
