# SPDX-License-Identifier: Apache-2.0
"""A rough registry and a client that meet: nothing is waited for, and what would have been is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from muster.release.oci.client import Client, Settings, open_client
from muster.release.oci.logins import Logins, parse_logins
from muster.release.oci.manifest import Descriptor
from muster.release.oci.patience import Patience
from muster.release.oci.reference import Reference
from muster.release.oci.transport import Limits
from tests.component.release.rough_registry import BASIC, RoughRegistry, start_registry

LIMITS = Limits(connect_s=5, stall_s=0.5)


@dataclass
class Meeting:
    """Who meets."""

    registry: RoughRegistry
    client: Client
    waits: list[float] = field(default_factory=list)

    async def read(self, reference: Reference, blob: Descriptor, offset: int = 0) -> bytes:
        data = bytearray()
        async with aclosing(self.client.blob(reference, blob, offset)) as chunks:
            async for chunk in chunks:
                data += chunk
        return bytes(data)


def patience_of(waits: list[float], tries: int = 3) -> Patience:
    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    return Patience(tries=tries, sleep=sleep, random=lambda: 1.0)


def logins_of(host: str) -> Logins:
    auth = BASIC.removeprefix("Basic ")
    return parse_logins(f'{{"auths": {{"{host}": {{"auth": "{auth}"}}}}}}')


def logins_for(registry: RoughRegistry) -> Logins:
    return logins_of(registry.host)


@asynccontextmanager
async def meet(**more: Any) -> AsyncIterator[Meeting]:
    """A registry without TLS, and a client that may use it."""
    async with start_registry() as registry:
        waits: list[float] = []
        settings = {
            "insecure": frozenset({registry.host}),
            "limits": LIMITS,
            "patience": patience_of(waits),
            "logins": logins_for(registry),
            **more,
        }
        async with open_client(Settings(**settings)) as client:
            yield Meeting(registry, client, waits)


def play(scene: Callable[[Meeting], Awaitable[None]], **more: Any) -> None:
    """Run a scene between a registry and a client."""

    async def go() -> None:
        async with meet(**more) as meeting:
            await scene(meeting)

    asyncio.run(go())
