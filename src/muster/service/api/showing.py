# SPDX-License-Identifier: Apache-2.0
"""What callers are shown of the state, with what only the running service knows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from typing import Final, TypeVar

from muster.model.wire.cluster import Cluster as WireCluster
from muster.model.wire.host import Host as WireHost
from muster.service.api.call import Call, Reply, reply
from muster.service.api.views.clusters import show_cluster, show_to_host
from muster.service.api.views.hosts import show_host
from muster.service.auth.personas import Persona
from muster.service.masking import mask_shown
from muster.service.realm import Realm
from muster.service.refusals import Outdated
from muster.service.replies.reports import merge_reports
from muster.service.state import Host

T = TypeVar("T")
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
    store = call.service.store
    return merge_reports(host.reports, numbers, lambda name: store.document(realm.id, host.id, name))


def shown_cluster(call: Call, id: str, *, with_hosts: bool) -> WireCluster:
    """A cluster, with its hosts if they are wanted."""
    engine = call.service.engine
    realm = engine.realm_of("cluster", id)
    assert realm.cluster is not None
    shown = show_cluster(realm.cluster, realm.hosts.values(), heard=engine.heard, with_hosts=with_hosts)
    return mask_shown(shown) if call.is_viewer else shown


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

    def see() -> WireCluster:
        found = shown_cluster(call, id, with_hosts=with_hosts)
        return show_to_host(found, own_host(call)) if own_host(call) else found

    return reply(await seen(call, (id,), see), status)


def own_host(call: Call) -> str | None:
    """The host that calls with its own token; None for other callers."""
    is_host = call.grant is not None and call.grant.persona is Persona.HOST
    return call.grant.scope.host_id if is_host and call.grant is not None else None


async def host_reply(call: Call, id: str, status: int = 200) -> Reply:
    """An answer that shows a host."""
    engine = call.service.engine
    realm = engine.realm_of("host", id).id
    return reply(await seen(call, (realm,), lambda: shown_host(call, engine.host(id))), status)
