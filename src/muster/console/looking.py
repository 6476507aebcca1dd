# SPDX-License-Identifier: Apache-2.0
"""Looks at the service with the host's own token; what has not changed there is not sent again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

import msgspec

from muster.client.calls import Calls, Refused, Unreachable, open_calls
from muster.client.snapshot import ServiceSight, Trouble, Why
from muster.client.target import Target
from muster.client.timekeeping import parse_date
from muster.client.watching import sight_of
from muster.errors import MusterError
from muster.frozen import dataclass
from muster.model.wire.cluster import Cluster

_PATIENCE_S: Final = 10.0


@dataclass(frozen=True)
class Course:
    """Where to look, and at which cluster."""

    target: Target
    cluster_id: str
    made_later: bool = False
    """Somebody makes the cluster in a browser. Until this host is in it, the service does not let it look."""

    def is_ahead(self, error: Refused | Unreachable) -> bool:
        """Whether an error means only that the cluster is not there yet."""
        return isinstance(error, Refused) and (error.code == 404 or (self.made_later and error.code == 403))


class Looker:
    """Looks at the cluster of this host. Where that is may become known late, and change."""

    def __init__(self, find_course: Callable[[], Course | None]) -> None:
        self._find = find_course
        self._course: Course | None = None
        self._calls: Calls | None = None
        self._stack = AsyncExitStack()
        self._seen: dict[str, tuple[str, bytes]] = {}
        """What was answered last, by path: its mark, and the answer."""

    async def look(self) -> ServiceSight | None:
        """What the service shows now; never an error. None when nobody says where it is."""
        course = self._find()
        if course is None:
            return None
        try:
            return await self._look(await self._open(course), course)
        except (Refused, Unreachable) as error:
            return ServiceSight() if course.is_ahead(error) else sight_of(error)
        except MusterError as error:
            return ServiceSight(Trouble.STRANGE, error.message)

    async def close(self) -> None:
        """Look no more."""
        await self._stack.aclose()

    async def _open(self, course: Course) -> Calls:
        """A way to the service; the one from before, as long as it leads there."""
        if self._calls is None or course != self._course:
            await self._stack.aclose()
            self._seen.clear()
            self._calls, self._course = (
                await self._stack.enter_async_context(open_calls(course.target)),
                course,
            )
        return self._calls

    async def _look(self, calls: Calls, course: Course) -> ServiceSight:
        path = f"/clusters/{course.cluster_id}"
        cluster, date = await self._read(calls, path)
        why, _ = await self._read(calls, f"{path}/why")
        try:
            return ServiceSight(
                at=parse_date(date),
                cluster=msgspec.json.decode(cluster, type=Cluster),
                why=msgspec.json.decode(why, type=Why),
            )
        except msgspec.DecodeError as error:
            return ServiceSight(Trouble.STRANGE, f"the answer cannot be read: {error}")

    async def _read(self, calls: Calls, path: str) -> tuple[bytes, str]:
        """An answer, and when it was given."""
        mark, body = self._seen.get(path, ("", b""))
        headers = {"If-None-Match": mark} if mark else {}
        answer = await calls.call("GET", path, headers=headers, patience_s=_PATIENCE_S)
        tag = answer.headers.get("ETag", "")
        if answer.body or not mark:
            body = answer.body
            self._seen[path] = (tag, body)
        return body, answer.headers.get("Date", "")
