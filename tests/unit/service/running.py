# SPDX-License-Identifier: Apache-2.0
"""Runs what is written for a loop but does not really wait."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from muster.service.edge.answers import App, Message

T = TypeVar("T")


def finish(work: Coroutine[Any, Any, T]) -> T:
    """The result of something that does not really wait."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("it waits for something")


def call(app: App, path: str = "/", headers: dict[str, str] | None = None, **more: Any) -> list[Message]:
    """What an application answers to a request without a body."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": raw, **more}

    async def work() -> None:
        await app(scope, receive, send)

    finish(work())
    return sent


def headers_of(sent: list[Message]) -> dict[str, str]:
    """The headers of an answer."""
    return {name.decode(): value.decode() for name, value in sent[0]["headers"]}
