# SPDX-License-Identifier: Apache-2.0
"""Answers about clusters."""

from __future__ import annotations

import msgspec

from muster.model.wire.cluster import (
    ClusterCreateParams,
    ClusterFinalizingProgress,
    CompletionParams,
    DisconnectedClusterCreateParams,
    IgnoredValidations,
    ImportClusterParams,
    V2ClusterUpdateParams,
)
from muster.service.api.call import Call, Reply, answers, empty, reply
from muster.service.api.showing import cluster_reply, shown_hosts
from muster.service.decisions import clusters as decide
from muster.service.realm import Draft, Realm
from muster.service.state import Cluster
from muster.service.states import cluster as states


def _realm(call: Call) -> Realm:
    return call.service.engine.realm_of("cluster", call.ids["cluster_id"])


@answers("v2RegisterCluster")
async def register_cluster(call: Call) -> Reply:
    params, id = call.decode(ClusterCreateParams), call.service.new_id()
    seal = call.service.around.vault.seal
    return await _create(call, id, lambda draft: decide.register_cluster(draft, id, params, seal))


@answers("v2ImportCluster")
async def import_cluster(call: Call) -> Reply:
    params, id = call.decode(ImportClusterParams), call.service.new_id()
    return await _create(call, id, lambda draft: decide.import_cluster(draft, id, params))


@answers("v2RegisterDisconnectedCluster")
async def register_disconnected(call: Call) -> Reply:
    params, id = call.decode(DisconnectedClusterCreateParams), call.service.new_id()
    return await _create(call, id, lambda draft: decide.register_disconnected(draft, id, params))


async def _create(call: Call, id: str, decision: Decision) -> Reply:
    engine = call.service.engine
    await call.service.change(lambda: engine.create(id), decision, call.request_id)
    return await cluster_reply(call, id, 201)


@answers("v2ListClusters")
async def list_clusters(call: Call) -> Reply:
    wanted = call.query.get("openshift_cluster_id")
    found = [
        each
        for each in call.service.engine.clusters()
        if wanted in (None, each.openshift_cluster_id) and call.may_see(cluster_id=each.id)
    ]
    for each in found:
        await call.service.settle(each.id)
    return reply([shown_cluster(call, each.id, with_hosts=call.flag("with_hosts") is True) for each in found])
