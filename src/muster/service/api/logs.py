# SPDX-License-Identifier: Apache-2.0
"""Answers about logs that hosts and the cluster's controller send."""

from __future__ import annotations

import tarfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final

from muster.model.wire.host import LogsProgressParams
from muster.release.off_loop import off_loop
from muster.service.api.agents import refuse_writes
from muster.service.api.call import OCTETS, Call, Reply, answers, empty
from muster.service.api.clusters import change, realm_of
from muster.service.api.multipart import stream_upload
from muster.service.api.showing import own_host
from muster.service.derive.roles import CONTROL_PLANE, effective_role
from muster.service.host_bounds import Upload
from muster.service.log_archives import CONTROLLER, Archive, stream
from muster.service.realm import Draft
from muster.service.refusals import BadRequest, Forbidden, NotFound

_BLOCK: Final = tarfile.BLOCKSIZE
_KINDS: Final = ("host", "controller", "all", "node-boot")


@answers("V2UploadLogs", is_streamed=True)
async def upload_logs(call: Call) -> Reply:
    kind, host_id = _kind(call), call.query.get("host_id", "")
    realm = realm_of(call)
    if kind == "host" and host_id not in realm.hosts:
        raise NotFound(f"host {host_id or '?'} is not in this cluster", hint="name it with host_id")
    _check_right(call, kind, host_id)
    owner = host_id if kind == "host" else CONTROLLER
    sender = own_host(call) or ""
    if refused := refuse_writes(call, sender):
        return refused
    assert call.chunks is not None
    body = stream_upload(call.headers.get("content-type", ""), call.chunks, "upfile")
    async with _place(call, sender or owner) as upload:
        size = await call.service.logs.put(realm.id, owner, upload.count(body) if upload else body)

    def decision(draft: Draft) -> None:
        subject: Any = draft.hosts.get(owner) if kind == "host" else draft.cluster
        if subject is None:  # It went away while it sent them.
            return
        field = "logs_collected_at" if kind == "host" else "controller_logs_collected_at"
        draft.change(subject, **{field: draft.now, "logs_info": "collecting"})
        name = "host_logs_uploaded" if kind == "host" else "cluster_logs_uploaded"
        draft.tell(subject, name, f"{size} bytes of logs of {owner} were uploaded")

    await call.service.change(lambda: realm_of(call), decision, call.request_id, host=sender)
    return empty()


def _place(call: Call, host: str) -> AbstractAsyncContextManager[Upload | None]:
    """A place among the uploads of hosts, so that others have theirs; people need none."""
    infra_env_id = call.grant.scope.infra_env_id if call.grant is not None else None
    return nullcontext() if infra_env_id is None else call.service.bounds.upload(infra_env_id, host)


@answers("V2DownloadClusterLogs")
async def download_logs(call: Call) -> Reply:
    realm, kind, logs = realm_of(call).id, _kind(call, "all"), call.service.logs
    kept = await off_loop(logs.owners, realm)
    wanted = kept
    if kind == "host":
        wanted = kept & {call.query.get("host_id", "")}
    elif kind == "controller":
        wanted = kept & {CONTROLLER}
    found = {owner: await off_loop(logs.find, realm, owner) for owner in sorted(wanted)}
    there = {owner: archive for owner, archive in found.items() if archive is not None}
    if not there:
        raise NotFound("there are no such logs", hint="hosts send them when an installation ends or fails")
    if len(there) == 1 and kind != "all":
        ((owner, archive),) = there.items()
        return _download(stream(archive), archive.size_bytes, f"{owner}_logs.tar.gz")
    size = sum(_BLOCK + archive.size_bytes + _padding(archive) for archive in there.values()) + 2 * _BLOCK
    return _download(_pack(there), size, f"{realm}_logs.tar")


def _check_right(call: Call, kind: str, host_id: str) -> None:
    """A host uploads its own logs; those of the cluster's controller come from the control plane."""
    own = own_host(call)
    if own is None:
        if kind != "host":
            raise Forbidden("only hosts of the control plane upload these logs", hint="name the host")
        return
    if kind == "host" and host_id != own:
        raise Forbidden("this token is for another host", hint="upload the logs of this host")
    if kind != "host" and effective_role(realm_of(call).hosts[own]) not in CONTROL_PLANE:
        raise Forbidden("only hosts of the control plane upload these logs", hint="upload logs_type=host")


def _download(body: AsyncIterator[bytes], size: int, name: str) -> Reply:
    headers = (("content-disposition", f'attachment; filename="{name}"'), ("content-length", f"{size}"))
    return Reply(200, body, OCTETS, headers)


async def _pack(archives: Mapping[str, Archive]) -> AsyncIterator[bytes]:
    """All of them as one tar archive."""
    for owner, archive in archives.items():
        entry = tarfile.TarInfo(f"{owner}/logs.tar.gz")
        entry.size = archive.size_bytes
        yield entry.tobuf()
        async for piece in stream(archive):
            yield piece
        yield bytes(_padding(archive))
    yield bytes(2 * _BLOCK)


def _padding(archive: Archive) -> int:
    return -archive.size_bytes % _BLOCK


def _kind(call: Call, default: str = "") -> str:
    kind = call.query.get("logs_type", default)
    if kind not in _KINDS:
        raise BadRequest(f"logs_type: {kind!r} is none", hint=f"one of {', '.join(_KINDS)}")
    return kind


@answers("v2UpdateHostLogsProgress")
async def host_logs_progress(call: Call) -> Reply:
    state, id = call.decode(LogsProgressParams).logs_state, call.ids["host_id"]
    service = call.service
    service.engine.host(id, call.ids["infra_env_id"])
    if refused := refuse_writes(call, id):
        return refused

    def decision(draft: Draft) -> None:
        host = draft.hosts[id]
        draft.change(host, logs_info=state, logs_started_at=host.logs_started_at or draft.now)

    await service.change(lambda: service.engine.realm_of("host", id), decision, call.request_id, host=id)
    return empty()


@answers("v2UpdateClusterLogsProgress")
async def cluster_logs_progress(call: Call) -> Reply:
    state = call.decode(LogsProgressParams).logs_state
    await change(call, lambda draft: draft.change(draft.cluster, logs_info=state))
    return empty()
