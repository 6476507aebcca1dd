# SPDX-License-Identifier: Apache-2.0
"""Answers about logs that hosts and the cluster's controller send."""

from __future__ import annotations

import asyncio
import io
import tarfile
from typing import Any, Final

from muster.model.wire.host import LogsProgressParams
from muster.service.api.call import Call, Reply, answers, empty, file
from muster.service.api.clusters import change, realm_of
from muster.service.api.multipart import read_upload
from muster.service.realm import Draft
from muster.service.refusals import BadRequest, NotFound

_KINDS: Final = ("host", "controller", "all", "node-boot")


@answers("V2UploadLogs")
async def upload_logs(call: Call) -> Reply:
    body = read_upload(call.headers.get("content-type", ""), call.body, "upfile")
    kind, host_id = _kind(call), call.query.get("host_id", "")
    if kind == "host" and host_id not in realm_of(call).hosts:
        raise NotFound(f"host {host_id or '?'} is not in this cluster", hint="name it with host_id")
    owner = host_id if kind == "host" else "controller"

    def decision(draft: Draft) -> None:
        draft.documents[draft.cluster.id, f"logs/{owner}"] = body
        subject: Any = draft.hosts[owner] if kind == "host" else draft.cluster
        field = "logs_collected_at" if kind == "host" else "controller_logs_collected_at"
        draft.change(subject, **{field: draft.now, "logs_info": "collecting"})
        name = "host_logs_uploaded" if kind == "host" else "cluster_logs_uploaded"
        draft.tell(subject, name, f"{len(body)} bytes of logs of {owner} were uploaded")

    await change(call, decision)
    return empty()


@answers("V2DownloadClusterLogs")
async def download_logs(call: Call) -> Reply:
    realm, kind = realm_of(call), _kind(call, "all")
    kept = {
        name.removeprefix("logs/")
        for _, name in call.service.store.documents(realm.id, realm.id)
        if name.startswith("logs/")
    }
    wanted = kept
    if kind == "host":
        wanted = kept & {call.query.get("host_id", "")}
    elif kind == "controller":
        wanted = kept & {"controller"}
    if not wanted:
        raise NotFound("there are no such logs", hint="hosts send them when an installation ends or fails")
    read = call.service.store.document
    bodies = await asyncio.to_thread(
        lambda: {owner: read(realm.id, realm.id, f"logs/{owner}") or b"" for owner in sorted(wanted)}
    )
    if len(wanted) == 1 and kind != "all":
        return file(next(iter(bodies.values())), f"{next(iter(wanted))}_logs.tar.gz")
    return file(_pack(bodies), f"{realm.id}_logs.tar")


def _pack(bodies: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for owner, body in bodies.items():
            entry = tarfile.TarInfo(f"{owner}/logs.tar.gz")
            entry.size = len(body)
            tar.addfile(entry, io.BytesIO(body))
    return packed.getvalue()


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

    def decision(draft: Draft) -> None:
        host = draft.hosts[id]
        draft.change(host, logs_info=state, logs_started_at=host.logs_started_at or draft.now)

    await service.change(lambda: service.engine.realm_of("host", id), decision, call.request_id)
    return empty()


@answers("v2UpdateClusterLogsProgress")
async def cluster_logs_progress(call: Call) -> Reply:
    state = call.decode(LogsProgressParams).logs_state
    await change(call, lambda draft: draft.change(draft.cluster, logs_info=state))
    return empty()
