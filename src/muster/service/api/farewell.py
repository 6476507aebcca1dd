# SPDX-License-Identifier: Apache-2.0
"""Answers with what is to be kept of a cluster, and with how far its hosts are."""

from __future__ import annotations

import asyncio

from muster.model.wire.host import HostLogLines
from muster.release.off_loop import off_loop
from muster.service.api.call import Call, Reply, answers, empty, file, reply
from muster.service.api.clusters import change, cluster_of, realm_of
from muster.service.api.files import credential
from muster.service.api.showing import seen
from muster.service.credentials import KUBECONFIG, PASSWORD, domain_of, make_credentials, note_taken
from muster.service.farewell import Farewell, farewell_of, pack
from muster.service.logs import HostLog, Tail, read_log
from muster.service.refusals import NotFound, StateConflict
from muster.service.store.port import Wanted
from muster.service.timeline import PROGRESS, Timeline, timeline_of

USER = "kubeadmin"


@answers("v2GetFarewell")
async def get_farewell(call: Call) -> Reply:
    around = call.service.around

    def see() -> Farewell:
        return farewell_of(cluster_of(call), realm_of(call).hosts.values(), around.house, around.url)

    return reply(await seen(call, (realm_of(call).id,), see))


@answers("v2DownloadEverything")
async def download_everything(call: Call) -> Reply:
    service, around = call.service, call.service.around
    await make_credentials(service, call.ids["cluster_id"])
    realm, cluster = realm_of(call), cluster_of(call)
    files = {
        "kubeconfig": credential(call, cluster, "kubeconfig") or credential(call, cluster, KUBECONFIG),
        PASSWORD: credential(call, cluster, PASSWORD),
    }
    there = {name: body for name, body in files.items() if body is not None}
    if len(there) < len(files):
        raise StateConflict(
            f"the service does not have the credentials of cluster {cluster.name}",
            hint="whoever made its medium has them: auth/kubeconfig beside it",
        )
    found = farewell_of(cluster, realm.hosts.values(), around.house, around.url)
    body = pack(found, USER, there, service.now())
    await change(call, lambda draft: note_taken(draft, domain_of(cluster), KUBECONFIG, PASSWORD))
    return file(body, f"{domain_of(cluster)}.zip")


@answers("v2GetTimeline")
async def get_timeline(call: Call) -> Reply:
    id = realm_of(call).id
    wanted = Wanted(realms=frozenset({id}), message="installation stage")
    logged = await asyncio.to_thread(call.service.store.told, wanted)
    events = [each.event for each in logged if each.event.name == PROGRESS]

    def see() -> Timeline:
        return timeline_of(cluster_of(call), realm_of(call).hosts, events, call.service.now())

    return reply(await seen(call, (id,), see))


@answers("v2GetHostLog")
async def get_host_log(call: Call) -> Reply:
    realm, host_id = realm_of(call), call.ids["host_id"]
    if host_id not in realm.hosts:
        raise NotFound(f"host {host_id} is not in this cluster", hint="list its hosts")
    lines, needle = call.number("lines", 500), call.query.get("filter", "")
    if (tail := call.service.tails.get(host_id)) is not None:
        after = call.number("after", 0)
        if tail.has_shown(after):
            await call.service.news.wait(_bell_of(host_id), call.patience_s)
        return reply(tail.show(lines, needle, after))
    archive = await off_loop(call.service.logs.find, realm.id, host_id)
    if archive is None:
        return reply(HostLog(lines=(), complete=True))
    async with call.service.log_views.take():
        return reply(await off_loop(read_log, archive.pieces(), lines, needle))


@answers("v2TellLogLines")
async def tell_log_lines(call: Call) -> Reply:
    told, service = call.decode(HostLogLines), call.service
    host = service.engine.host(call.ids["host_id"], call.ids["infra_env_id"])
    for gone in [id for id in service.tails if service.engine.find_host(id) is None]:
        del service.tails[gone]
    taken = service.log_lines.take(host.id, len(told.lines), service.now().timestamp())
    lines = told.lines[: taken.granted]
    if taken.suppressed:
        lines = (f"({taken.suppressed} lines were suppressed: the host sent too many)", *lines)
    service.tails.setdefault(host.id, Tail()).add(lines)
    service.news.call((_bell_of(host.id),))
    return empty()


def _bell_of(host_id: str) -> str:
    """What people wait for who read along in the journal of a host."""
    return f"log/{host_id}"
