# SPDX-License-Identifier: Apache-2.0
"""What callers are shown of the state, with what only the running service knows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from muster.model.wire.host import Host as WireHost
from muster.service.api.call import JSON, Call, Reply
from muster.service.api.views.clusters import show_cluster, show_to_host
from muster.service.api.views.hosts import show_host, show_peer
from muster.service.auth.personas import Persona
from muster.service.masking import mask_shown
from muster.service.realm import Realm
from muster.service.refusals import Outdated
from muster.service.replies.reports import merge_reports
from muster.service.state import Host

T = TypeVar("T")
MANY_HOSTS: Final = 32
"""An answer that shows so many hosts is made in a thread: each can have an inventory of most of a MiB."""
_MANY_REPORTS: Final = 4
"""The same of one host with so many reports on its peers: each can be a few MiB."""
_encoder: Final = msgspec.json.Encoder()
_TRIES: Final = 3
"""Others of the same realm may go on to decide what cannot be written."""


def shown_host(
    call: Call, host: Host, *, with_connectivity: bool = True, with_inventory: bool = True
) -> WireHost:
    """A host, when it was last heard, and what it reported of its peers."""
    engine = call.service.engine
    realm = engine.realm_of("host", host.id)
    report = _report(call, realm, host) if with_connectivity else None
    heard_at = engine.heard.get(host.id)
    return show_host(host, realm.cluster, heard_at=heard_at, connectivity=report, inventory=with_inventory)


def _report(call: Call, realm: Realm, host: Host) -> bytes | None:
    numbers = {each.id: each.number for each in realm.hosts.values()} if len(host.reports) > 1 else {}
    return _merged(call, realm.id, host, numbers)


def _merged(call: Call, realm: str, host: Host, numbers: Mapping[str, int]) -> bytes | None:
    store = call.service.store
    return merge_reports(host.reports, numbers, lambda name: store.document(realm, host.id, name))


Piece: TypeAlias = Callable[[], bytes]
"""Makes a part of an answer in JSON, of what is so now. It may be called later, and in a thread."""


def host_pieces(
    call: Call,
    hosts: Iterable[Host],
    *,
    with_connectivity: bool = True,
    with_inventory: bool = True,
    mask: Callable[[WireHost], WireHost] = lambda host: host,
) -> list[Piece]:
    """What makes the parts of an answer that lists hosts."""
    engine = call.service.engine
    numbers: dict[str, dict[str, int]] = {}

    def piece_of(host: Host) -> Piece:
        realm, heard_at = engine.realm_of("host", host.id), engine.heard.get(host.id)
        id, cluster = realm.id, realm.cluster
        if with_connectivity and len(host.reports) > 1 and id not in numbers:
            numbers[id] = {each.id: each.number for each in realm.hosts.values()}

        def make() -> bytes:
            report = _merged(call, id, host, numbers.get(id, {})) if with_connectivity else None
            shown = show_host(host, cluster, heard_at=heard_at, connectivity=report, inventory=with_inventory)
            return _encoder.encode(mask(shown))

        return make

    return [piece_of(host) for host in hosts]


async def list_reply(call: Call, pieces: Sequence[Piece], hosts: int | None = None) -> Reply:
    """An answer that lists things, hosts as a rule. One with many hosts is made in a thread, part by part."""

    def make() -> bytes:
        return b"[%s]" % b",".join(piece() for piece in pieces)

    return Reply(200, await _made(call, make, len(pieces) if hosts is None else hosts), JSON)


async def _made(call: Call, make: Callable[[], bytes], hosts: int) -> bytes:
    return make() if hosts < MANY_HOSTS else await call.service.around.background.compute(make)


def cluster_piece(call: Call, id: str, *, with_hosts: bool) -> tuple[Piece, int]:
    """What makes a cluster as a part of an answer, and of how many hosts."""
    engine = call.service.engine
    realm = engine.realm_of("cluster", id)
    assert realm.cluster is not None
    cluster, hosts, own = realm.cluster, tuple(realm.hosts.values()), own_host(call)
    pieces = host_pieces(call, hosts, with_connectivity=False, mask=_mask_of(call)) if with_hosts else None

    def make() -> bytes:
        shown = show_cluster(cluster, hosts, with_hosts=False)
        if call.is_viewer:
            shown = mask_shown(shown)
        if own:
            shown = show_to_host(shown, own)
        parts: Any = None if pieces is None else tuple(msgspec.Raw(piece()) for piece in pieces)
        return _encoder.encode(shown if parts is None else msgspec.structs.replace(shown, hosts=parts))

    return make, len(hosts)


def _mask_of(call: Call) -> Callable[[WireHost], WireHost]:
    """What of a host in a cluster the caller sees."""
    own = own_host(call)
    if own:
        return lambda host: host if host.id == own else show_peer(host)
    return mask_shown if call.is_viewer else lambda host: host


async def seen(call: Call, realms: Collection[str], see: Callable[[], T]) -> T:
    """What is to be seen of realms, once all of it is durable; what never will be is looked at again."""
    for _ in range(_TRIES):
        found = see()
        with contextlib.suppress(Outdated):
            await call.service.settle(*realms)
            return found
    found = see()
    await call.service.settle(*realms)
    return found


async def cluster_reply(call: Call, id: str, status: int = 200, *, with_hosts: bool = True) -> Reply:
    """An answer that shows a cluster; what it shows is durable."""

    make, hosts = await seen(call, (id,), lambda: cluster_piece(call, id, with_hosts=with_hosts))
    return Reply(status, await _made(call, make, hosts), JSON)


def own_host(call: Call) -> str | None:
    """The host that calls with its own token; None for other callers."""
    is_host = call.grant is not None and call.grant.persona is Persona.HOST
    return call.grant.scope.host_id if is_host and call.grant is not None else None


async def host_reply(call: Call, id: str, status: int = 200) -> Reply:
    """An answer that shows a host."""
    engine = call.service.engine
    host = engine.host(id)
    (make,) = await seen(
        call, (engine.realm_of("host", id).id,), lambda: host_pieces(call, [engine.host(id)])
    )
    return Reply(
        status, await _made(call, make, MANY_HOSTS if len(host.reports) > _MANY_REPORTS else 1), JSON
    )
