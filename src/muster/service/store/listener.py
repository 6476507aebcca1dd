# SPDX-License-Identifier: Apache-2.0
"""Hears from PostgreSQL what other replicas changed."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import ExitStack, closing
from typing import Final

import psycopg

from muster.service.store.link import Address, Connection, connect
from muster.service.store.port import Ears, StoreError

_CHANNEL: Final = "muster"
HOSTS: Final = "muster_hosts"
"""Where replicas tell which hosts they have heard: by their ids, behind the id of the replica."""
_LONGEST_S: Final = 5.0


class Listener:
    """A thread with a connection of its own. When that is lost it is made again, and all realms are told."""

    def __init__(self, address: Address, own: str, ears: Ears) -> None:
        self._address, self._own, self._ears = address, own, ears
        self._news: dict[str, int] = {}
        self._hosts: list[str] = []
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(
            target=self._run, args=(self._begin(),), name="muster-listener", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Hear nothing more."""
        self._wake.close()
        self._thread.join()
        self._woken.close()

    def _begin(self, *, all_anew: bool = False) -> Connection:
        with ExitStack() as unless_it_listens:
            connection = unless_it_listens.enter_context(closing(connect(self._address)))
            connection.add_notify_handler(self._note)
            connection.execute(f"LISTEN {_CHANNEL}; LISTEN {HOSTS}")
            for realm, version in connection.execute("SELECT id, version FROM realms") if all_anew else ():
                self._hear(realm, version)
            unless_it_listens.pop_all()
        return connection

    def _run(self, connection: Connection) -> None:
        found: Connection | None = connection
        while found is not None:
            with closing(found):  # Not "with found": that commits, and raises where the server went away.
                self._follow(found)
            found = self._again()

    def _follow(self, connection: Connection) -> None:
        """Tell what comes, until the connection is lost or nobody wants to hear more."""
        try:
            while not self._is_over(connection.fileno()):
                connection.execute("SELECT 1")  # What has come is handed over with the answer.
                self._tell()
        except (psycopg.Error, OSError):
            return

    def _is_over(self, *others: int, wait_s: float | None = None) -> bool:
        """Wait until there is something to read or to do; whether it is time to end."""
        own = self._woken.fileno()
        ready, _, _ = select.select([own, *others], [], [], wait_s)
        return own in ready

    def _again(self) -> Connection | None:
        """Connect again, as long as it takes; nobody knows what was missed, so all may have changed."""
        pause_s = 0.1
        while not self._is_over(wait_s=pause_s):
            try:
                connection = self._begin(all_anew=True)
            except (psycopg.Error, StoreError):
                pause_s = min(pause_s * 2, _LONGEST_S)
                continue
            self._ears.hosts(None)
            self._tell()
            return connection
        return None

    def _note(self, notify: psycopg.Notify) -> None:
        whose, *words = notify.payload.split(" ")
        if whose == self._own:
            return
        if notify.channel == HOSTS:
            self._hosts += words
        else:
            self._hear(words[0], int(words[1]))

    def _hear(self, realm: str, version: int) -> None:
        self._news[realm] = max(version, self._news.get(realm, 0))

    def _tell(self) -> None:
        news, self._news = self._news, {}
        hosts, self._hosts = self._hosts, []
        if news:
            self._ears.realms(news)
        if hosts:
            self._ears.hosts(hosts)
