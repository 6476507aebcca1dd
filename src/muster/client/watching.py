# SPDX-License-Identifier: Apache-2.0
"""Looks at an installation until somebody has seen enough: the service by its stream, and the cluster's API.

async with open_watcher(target, authority_pem, cluster_id) as watcher:
    await watch(watcher, kubernetes, tell)
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Final

import aiohttp
import msgspec

from muster.client.calls import Calls, Refused, Unreachable
from muster.client.kubernetes import Kubernetes
from muster.client.phases import Course, course_of
from muster.client.snapshot import KubernetesSight, ServiceSight, Snapshot, Trouble, Why
from muster.client.target import Target
from muster.client.timekeeping import parse_date
from muster.client.words import find_trouble, words_of
from muster.errors import UserError
from muster.frozen import dataclass
from muster.model.wire.cluster import Cluster
from muster.model.wire.files import Event

_PATIENCE_S: Final = 15.0
_SILENCE_S: Final = 40.0
"""The service says something at least every 15 s."""


@dataclass(frozen=True)
class Pace:
    """How often is looked."""

    tick_s: float = 1.0
    """How often is told, changed or not: time is part of the story."""
    retry_s: float = 2.0
    """Between two looks at a service that does not answer, or has no stream."""
    rest_s: float = 0.5
    """Between two looks, whatever happens there."""
    settled_s: float = 10.0
    """Between two looks while the stream says that nothing happens."""
    api_s: float = 5.0


class Watcher:
    """Looks at one cluster of a service."""

    def __init__(self, session: aiohttp.ClientSession, target: Target, cluster_id: str) -> None:
        self._session, self._target, self._wanted = session, target, cluster_id
        self._calls = Calls(session, target)
        self._id = ""
        self._news = asyncio.Event()
        self._is_streaming = False

    async def look(self) -> ServiceSight:
        """What the service shows now; never an error."""
        try:
            return await self._look()
        except (Refused, Unreachable) as error:
            if isinstance(error, Refused) and error.code == 404:
                self._id = ""  # It may have been made anew.
                return ServiceSight()
            return sight_of(error)

    async def _look(self) -> ServiceSight:
        if not self._id:
            found = await self._calls.read("GET", "/clusters", tuple[Cluster, ...], patience_s=_PATIENCE_S)
            ids = [each.id for each in found]
            if self._wanted not in ids and len(ids) > 1:
                return ServiceSight(Trouble.STRANGE, f"none of its {len(ids)} clusters is that of this site")
            if not ids:
                return ServiceSight()
            self._id = self._wanted if self._wanted in ids else ids[0]
        path = f"/clusters/{self._id}"
        answer = await self._calls.call("GET", path, patience_s=_PATIENCE_S)
        date, here = answer.headers.get("Date", ""), datetime.now(UTC)
        why = await self._calls.read("GET", f"{path}/why", Why, patience_s=_PATIENCE_S)
        try:
            cluster = msgspec.json.decode(answer.body, type=Cluster)
        except msgspec.DecodeError as error:
            return ServiceSight(Trouble.STRANGE, f"the answer cannot be read: {error}")
        return ServiceSight(at=parse_date(date), here=here, cluster=cluster, why=why)

    async def course(self) -> Course | None:
        """When what was reached, by the log of the service; None when it cannot be asked any more."""
        path = f"/events?cluster_id={self._id or self._wanted}&limit=-1"
        try:
            return course_of(await self._calls.read("GET", path, tuple[Event, ...], patience_s=_PATIENCE_S))
        except (Refused, Unreachable):
            return None

    async def listen(self, retry_s: float) -> None:
        """Follow the stream of the service, again and again: it says when to look."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=_SILENCE_S)
        headers = {str(self._target.caller): self._target.token}
        while True:
            with contextlib.suppress(aiohttp.ClientError, OSError):
                async with self._session.get(
                    f"{self._target.base}/stream", headers=headers, timeout=timeout
                ) as response:
                    self._is_streaming = response.status == 200
                    while self._is_streaming and (part := await response.content.readany()):
                        if not part.startswith(b":"):  # A comment says only that it is still there.
                            self._news.set()
            self._is_streaming = False
            self._news.set()
            await asyncio.sleep(retry_s)

    async def wait(self, pace: Pace, *, answers: bool) -> None:
        """Until it is worth to look again."""
        await asyncio.sleep(pace.rest_s)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pace.settled_s if answers and self._is_streaming else pace.retry_s):
                await self._news.wait()
        self._news.clear()


def sight_of(error: Refused | Unreachable) -> ServiceSight:
    """What is seen of a service that gave no answer."""
    if isinstance(error, Refused):
        if error.code in (401, 403):
            return ServiceSight(Trouble.REFUSED, f"it refuses our token: {error.reason}")
        return ServiceSight(Trouble.STRANGE, f"it answers with status {error.code}: {error.reason}")
    cause = error.__cause__
    if isinstance(cause, msgspec.DecodeError) or cause is None:
        return ServiceSight(Trouble.STRANGE, error.why)
    return ServiceSight(find_trouble(cause), words_of(cause))


@contextlib.asynccontextmanager
async def open_watcher(target: Target, authority: str, cluster_id: str) -> AsyncIterator[Watcher]:
    """A watcher of a service whose certificate is judged by an authority in PEM form."""
    try:
        context = ssl.create_default_context(cadata=authority)
    except (ssl.SSLError, ValueError) as error:
        raise UserError(
            f"the authority of the service cannot be used: {error}",
            hint="bring back a copy of the state file",
        ) from error
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Watcher(session, target, cluster_id)


class _Board:
    """What was seen last, and whether somebody should look at it."""

    def __init__(self) -> None:
        self.service: ServiceSight | None = None
        self.api: KubernetesSight | None = None
        self.is_new = asyncio.Event()

    async def keep_service(self, watcher: Watcher, pace: Pace) -> None:
        while True:
            self.service = await watcher.look()
            self.is_new.set()
            await watcher.wait(pace, answers=self.service.trouble is None)

    async def keep_api(self, kubernetes: Kubernetes, pace: Pace) -> None:
        while True:
            self.api = await kubernetes.look()
            self.is_new.set()
            await asyncio.sleep(pace.api_s)

    async def turn(self, within_s: float) -> None:
        """Until there is something new, or time has passed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self.is_new.wait()
        self.is_new.clear()


async def watch(
    watcher: Watcher, kubernetes: Kubernetes, tell: Callable[[Snapshot], bool], pace: Pace | None = None
) -> None:
    """Tell what is seen, whenever it changes and now and then, until that says that it is enough."""
    pace, board = pace or Pace(), _Board()
    tasks = [
        asyncio.create_task(board.keep_service(watcher, pace)),
        asyncio.create_task(watcher.listen(pace.retry_s)),
        asyncio.create_task(board.keep_api(kubernetes, pace)),
    ]
    try:
        while not tell(Snapshot(board.service, board.api)):
            await board.turn(pace.tick_s)
            for task in tasks:
                if task.done():
                    task.result()  # They end only by an error, which is not to be lost.
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
