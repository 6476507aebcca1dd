# SPDX-License-Identifier: Apache-2.0
"""Nodes of an installation that the service lost with its memory: they are named as long as they report.

A node whose own token is refused reports with the token of the medium, once a minute. Every holder of the
medium can do that too. So few names are kept, each only while it is reported, and a person can ignore the
validation `no-hosts-left-behind`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection
from functools import partial
from typing import Final

from muster.redact import printable
from muster.service.edge.rate import Allowance, Rate
from muster.service.realm import Draft, Realm
from muster.service.refusals import NotFound, Unavailable
from muster.service.service import Service
from muster.service.state import Cluster

MAX_NAME: Final = 64
MOST: Final = 100
FORGET_S: Final = 600.0
"""A node that did not report for so long is not waited for any more."""
_EVENTS: Final = Rate(burst=200, per_second=1 / 60)
"""Names that are new: each is an event."""


class LeftBehind:
    """The nodes that report to a service that does not know them, for the one cluster of a site."""

    def __init__(self, service: Service, cluster_id: str, forget_s: float = FORGET_S) -> None:
        self._service, self._cluster_id, self._forget_s = service, cluster_id, forget_s
        self._allowance = Allowance(_EVENTS)
        self._reported_at: dict[str, float] = {}
        """Of each node that is named: when it reported last, in seconds of the loop."""

    def resume(self) -> None:
        """After a start, nodes that are named already have the whole time to report again."""
        for host_id in self._named():
            self._note_report(host_id)

    async def note(self, host_id: str, name: str) -> None:
        """A node reports. The name is what a stranger sent."""
        named = self._named()
        if host_id not in named:
            now = self._service.now().timestamp()
            if len(named) >= MOST or not self._allowance.take(self._cluster_id, 1, now).granted:
                return
            shown = " ".join(printable(name).split())[:MAX_NAME] or host_id
            with contextlib.suppress(NotFound):
                await self._service.change(lambda: self._realm, partial(_add, host_id, shown))
        if host_id in self._named():
            self._note_report(host_id)

    async def welcome(self) -> None:
        """Hosts that registered since: what they were before does not matter any more."""
        if known := self._named().keys() & self._realm.hosts.keys():
            await self._service.change(lambda: self._realm, partial(_remove, known))

    @property
    def _realm(self) -> Realm:
        return self._service.engine.realm_of("cluster", self._cluster_id)

    @property
    def _cluster(self) -> Cluster | None:
        engine = self._service.engine
        return engine.cluster(self._cluster_id) if engine.has_cluster(self._cluster_id) else None

    def _named(self) -> dict[str, str]:
        cluster = self._cluster
        return {} if cluster is None else cluster.strangers or {}

    def _note_report(self, host_id: str) -> None:
        is_new = host_id not in self._reported_at
        self._reported_at[host_id] = asyncio.get_running_loop().time()
        if is_new:
            self._look_later(host_id, self._forget_s)

    def _look_later(self, host_id: str, seconds: float) -> None:
        self._service.around.background.later(seconds, lambda: self._look(host_id))

    def _look(self, host_id: str) -> None:
        left = self._reported_at[host_id] + self._forget_s - asyncio.get_running_loop().time()
        if left > 0:
            self._look_later(host_id, left)
            return
        del self._reported_at[host_id]
        self._service.around.background.start(self._forget(host_id))

    async def _forget(self, host_id: str) -> None:
        try:
            if host_id in self._named():
                await self._service.change(lambda: self._realm, partial(_remove, {host_id}))
        except NotFound:
            return  # The cluster is gone.
        except Unavailable:
            self._note_report(host_id)


def _add(host_id: str, name: str, draft: Draft) -> None:
    named = draft.cluster.strangers or {}
    if host_id in draft.hosts or host_id in named or len(named) >= MOST:
        return
    draft.change(draft.cluster, strangers={**named, host_id: name})
    text = f"Host {name} runs from its disk with keys that were lost when the rendezvous host restarted"
    draft.tell(draft.cluster, "host_left_behind", text, severity="error", host_id=host_id)


def _remove(ids: Collection[str], draft: Draft) -> None:
    left = {id: name for id, name in (draft.cluster.strangers or {}).items() if id not in ids}
    draft.change(draft.cluster, strangers=left)
