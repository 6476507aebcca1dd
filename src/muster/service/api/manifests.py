# SPDX-License-Identifier: Apache-2.0
"""Answers about the manifests of a cluster."""

from __future__ import annotations

from muster.model.wire.files import CreateManifestParams, UpdateManifestParams
from muster.service.api.call import Call, Reply, answers, empty, file, reply
from muster.service.api.clusters import change, cluster_of
from muster.service.api.showing import seen
from muster.service.api.views.files import show_manifests
from muster.service.decisions import manifests as decide
from muster.service.refusals import BadRequest


@answers("V2ListClusterManifests")
async def list_manifests(call: Call) -> Reply:
    return reply(await seen(call, (cluster_of(call).id,), lambda: [*show_manifests(cluster_of(call))]))


@answers("V2CreateClusterManifest")
async def create_manifest(call: Call) -> Reply:
    params = call.decode(CreateManifestParams)
    compute, kind = call.service.around.background.compute_answer, call.service.around.driver.kind
    body = await compute(lambda: decide.read_manifest(params.file_name, params.content, kind))
    return reply(await change(call, lambda draft: decide.create_manifest(draft, params, body)), 201)


@answers("V2UpdateClusterManifest")
async def update_manifest(call: Call) -> Reply:
    params, cluster = call.decode(UpdateManifestParams), cluster_of(call)
    name, content = params.updated_file_name or params.file_name, params.updated_content
    kind = call.service.around.driver.kind

    def read() -> bytes:
        if content is not None:
            return decide.read_manifest(name, content, kind)
        key = f"{params.folder}/{params.file_name}"
        body = call.service.store.document(cluster.id, cluster.id, decide.document_name(key))
        if body is None:
            raise decide.no_manifest(cluster, key)
        decide.check_manifest(name, body, kind)
        return body

    body = await call.service.around.background.compute_answer(read)
    return reply(await change(call, lambda draft: decide.update_manifest(draft, params, body)))


@answers("V2DeleteClusterManifest")
async def delete_manifest(call: Call) -> Reply:
    folder, name = call.query.get("folder") or "manifests", _name(call)
    await change(call, lambda draft: decide.delete_manifest(draft, folder, name))
    return empty(200)


@answers("v2DownloadClusterManifest")
async def download_manifest(call: Call) -> Reply:
    cluster, name = cluster_of(call), _name(call)
    key = f"{call.query.get('folder') or 'manifests'}/{name}"
    body = call.service.store.document(cluster.id, cluster.id, decide.document_name(key))
    if key not in cluster.manifests or body is None:
        raise decide.no_manifest(cluster, key)
    return file(body, name)


def _name(call: Call) -> str:
    name = call.query.get("file_name", "")
    if not name:
        raise BadRequest("file_name is missing", hint="say which manifest is meant")
    return name
