# SPDX-License-Identifier: Apache-2.0
"""How many connections there may be: few for strangers, many for callers who have shown a valid token.

A connection belongs to a stranger until a request on it brings a valid token; then it counts among those of
hosts or of people. Hundreds of hosts behind one address are thus not held back by the limit for strangers.

Strangers cannot keep others out. When all their places are taken, the network that has the most of them loses
its oldest connection, and the newcomer gets the place. Within one network the oldest connection makes room
once it has had some seconds to show a token; before that, the newcomer is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from muster.frozen import dataclass
from muster.service.auth.attempts import network_of

Caller: TypeAlias = Literal["strangers", "hosts", "people"]
CONNECTION_KEY: Final = "connection"
"""Where the connection of a request is: `scope["state"][CONNECTION_KEY]`."""
CALLER_KEY: Final = "caller"
"""Which kind of caller a request is from, once that is known."""
GRACE_S: Final = 5.0

cached_network_of: Final = lru_cache(maxsize=4096)(network_of)


@dataclass(frozen=True)
class Room:
    """How much there may be at the same time: of one network, and of all together."""

    each: int
    all: int


ROOMS: Final[Mapping[Caller, Room]] = {
    "strangers": Room(each=256, all=512),
    "hosts": Room(each=2048, all=4096),
    "people": Room(each=256, all=1024),
}
"""People have places of their own, so hosts with a valid token cannot take them."""


class Connection:
    """One connection, counted until it is closed."""

    def __init__(self, connections: Connections, network: str, since: float) -> None:
        self._connections = connections
        self.network = network
        self.since = since
        self.caller: Caller = "strangers"
        self.close: Callable[[], object] = _nothing
        """Ends it at once."""

    def belongs_to(self, caller: Caller) -> bool:
        """A request brought a valid token; False when there is no room for more callers of that kind."""
        return caller == self.caller or self._connections.move(self, caller)

    def ended(self) -> None:
        """It is closed."""
        self._connections.remove(self)
        # What closes it refers to it: without this, both would stay until garbage is collected.
        self.close = _nothing


class Connections:
    """All connections of a service."""

    def __init__(self, clock: Callable[[], float], rooms: Mapping[Caller, Room] = ROOMS) -> None:
        self._clock = clock
        self._pools = {caller: _Pool(room) for caller, room in rooms.items()}

    def count(self, caller: Caller) -> int:
        """How many there are."""
        return self._pools[caller].total

    def open(self, address: str) -> Connection | None:
        """Count a new connection; None when it has to be refused."""
        network, pool, now = cached_network_of(address), self._pools["strangers"], self._clock()
        there = pool.networks.get(network, {})
        if len(there) >= pool.room.each:
            oldest = next(iter(there))
            if now - oldest.since < GRACE_S:
                return None
            self._evict(oldest)
        elif pool.total >= pool.room.all:
            crowd = max(pool.networks.values(), key=len)
            self._evict(next(iter(crowd)))
        connection = Connection(self, network, now)
        pool.add(connection)
        return connection

    def move(self, connection: Connection, caller: Caller) -> bool:
        """Count a connection among those of another kind of caller, if there is room."""
        pool = self._pools[caller]
        if not pool.has_room(connection.network):
            return False
        self.remove(connection)
        connection.caller = caller
        pool.add(connection)
        return True

    def remove(self, connection: Connection) -> None:
        """It counts no more."""
        self._pools[connection.caller].remove(connection)

    def _evict(self, connection: Connection) -> None:
        self.remove(connection)
        connection.close()


class _Pool:
    """Connections of one kind of caller, by network, the oldest first."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.networks: dict[str, dict[Connection, None]] = {}
        self.total = 0

    def has_room(self, network: str) -> bool:
        return self.total < self.room.all and len(self.networks.get(network, ())) < self.room.each

    def add(self, connection: Connection) -> None:
        self.networks.setdefault(connection.network, {})[connection] = None
        self.total += 1

    def remove(self, connection: Connection) -> None:
        there = self.networks.get(connection.network)
        if there is None or connection not in there:
            return
        del there[connection]
        self.total -= 1
        if not there:
            del self.networks[connection.network]


def _nothing() -> None:
    pass
