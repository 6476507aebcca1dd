# SPDX-License-Identifier: Apache-2.0
"""Connections of a server: how many there may be, and which one is closed when there is no room.

Each connection has a holder, and is in the pool of its kind. A new connection belongs to the network that it
comes from, among strangers. It leaves them when a request shows a valid token: then it belongs to the holder
of the token. While it transfers a large answer it is among the transfers.

When a pool is full, the holder with the most connections in it loses the one that was idle longest. A holder
that has all of its own places loses its own. So no holder can keep others out. Activity is a new connection,
a request, and data that the client sends or takes. A transfer is closed for others only if it stalls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

from muster.frozen import dataclass
from muster.serving.accept import network_of

STRANGERS: Final = "strangers"
TRANSFERS: Final = "transfers"
GRACE_S: Final = 1.0
"""A network with all of its places keeps a connection that was active so lately; a newcomer is refused."""
STALLED_S: Final = 5.0
"""A transfer of which the client took nothing for so long makes room for another one."""

cached_network_of: Final = lru_cache(maxsize=4096)(network_of)


@dataclass(frozen=True)
class Room:
    """How much there may be at the same time: of one holder, and of all together."""

    each: int
    all: int


class Connection:
    """One connection, counted until it is closed."""

    def __init__(self, connections: Connections, network: str, now: float) -> None:
        self._connections = connections
        self.network = network
        self.kind, self.holder = STRANGERS, network
        self.active_at = now
        self.is_open = True
        self.has_transfer = False
        """Whether a large answer is under way."""
        self.waits_until = now
        """When a transfer that found no room among the transfers looks again."""
        self.close: Callable[[], object] = _nothing
        """Ends it at once."""

    def touch(self) -> None:
        """It was active now."""
        self._connections.touch(self)

    def belongs_to(self, kind: str, holder: str) -> None:
        """A request brought a valid token of this holder."""
        self._connections.move(self, kind, holder)

    @contextmanager
    def transfer(self) -> Iterator[None]:
        """Count a stranger's connection among the transfers while a large answer is under way."""
        self.has_transfer = True
        self.touch()
        try:
            yield
        finally:
            self.has_transfer = False
            if self.kind == TRANSFERS:
                self._connections.move(self, STRANGERS, self.network)

    def ended(self) -> None:
        """It is closed."""
        self._connections.remove(self)
        # What closes it refers to it: without this, both would stay until garbage is collected.
        self.close = _nothing


class Connections:
    """All connections of a server."""

    def __init__(self, clock: Callable[[], float], rooms: Mapping[str, Room]) -> None:
        self._clock = clock
        self._pools = {kind: _Pool(room) for kind, room in rooms.items()}

    def count(self, kind: str) -> int:
        """How many there are."""
        return self._pools[kind].total

    def open(self, address: str) -> Connection | None:
        """Count a new connection; None when it has to be refused."""
        network, pool, now = cached_network_of(address), self._pools[STRANGERS], self._clock()
        own = pool.holders.get(network, {})
        if len(own) >= pool.room.each and now - _oldest(own).active_at < GRACE_S:
            return None
        self._make_room(pool, network)
        connection = Connection(self, network, now)
        pool.add(connection)
        return connection

    def touch(self, connection: Connection) -> None:
        """Note that a connection was active."""
        if not connection.is_open:
            return
        now = connection.active_at = self._clock()
        self._pools[connection.kind].remove(connection)
        if connection.has_transfer and connection.kind == STRANGERS and now >= connection.waits_until:
            if self._has_room_for_transfer(self._pools[TRANSFERS], connection.network):
                connection.kind = TRANSFERS
            else:
                connection.waits_until = now + GRACE_S
        self._pools[connection.kind].add(connection)

    def move(self, connection: Connection, kind: str, holder: str) -> None:
        """Count a connection among those of another holder."""
        if not connection.is_open:
            return
        self._pools[connection.kind].remove(connection)
        self._make_room(self._pools[kind], holder)
        connection.kind, connection.holder, connection.active_at = kind, holder, self._clock()
        self._pools[kind].add(connection)

    def remove(self, connection: Connection) -> None:
        """It counts no more."""
        connection.is_open = False
        self._pools[connection.kind].remove(connection)

    def _make_room(self, pool: _Pool, holder: str) -> None:
        own = pool.holders.get(holder, {})
        if len(own) >= pool.room.each:
            self._close(_oldest(own))
        elif pool.total >= pool.room.all:
            self._close(_oldest(max(pool.holders.values(), key=_crowd)))

    def _has_room_for_transfer(self, pool: _Pool, holder: str) -> bool:
        """Whether there is room, or a stalled transfer that can be closed."""
        own = pool.holders.get(holder, {})
        if len(own) >= pool.room.each:
            oldest = _oldest(own)
        elif pool.total >= pool.room.all:
            oldest = min((_oldest(each) for each in pool.holders.values()), key=lambda each: each.active_at)
        else:
            return True
        if self._clock() - oldest.active_at < STALLED_S:
            return False
        self._close(oldest)
        return True

    def _close(self, connection: Connection) -> None:
        self.remove(connection)
        connection.close()


class _Pool:
    """Connections of one kind by holder; of each holder the one that was idle longest is the first."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.holders: dict[str, dict[Connection, None]] = {}
        self.total = 0

    def add(self, connection: Connection) -> None:
        self.holders.setdefault(connection.holder, {})[connection] = None
        self.total += 1

    def remove(self, connection: Connection) -> None:
        own = self.holders.get(connection.holder)
        if own is None or connection not in own:
            return
        del own[connection]
        self.total -= 1
        if not own:
            del self.holders[connection.holder]


def _oldest(own: Mapping[Connection, None]) -> Connection:
    return next(iter(own))


def _crowd(own: Mapping[Connection, None]) -> tuple[int, float]:
    """Orders holders by the number of their connections, then by how long one was idle."""
    return len(own), -_oldest(own).active_at


def _nothing() -> None:
    pass
