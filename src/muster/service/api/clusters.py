# SPDX-License-Identifier: Apache-2.0
"""Answers about clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from muster.model.wire.cluster import (
    ClusterCreateParams,
    DisconnectedClusterCreateParams,
    IgnoredValidations,
    ImportClusterParams,
    V2ClusterUpdateParams,
)
from muster.service.api.call import Call, Reply, answers, empty, reply
from muster.service.api.showing import (
    Piece,
    cluster_piece,
    cluster_reply,
    host_pieces,
    list_reply,
    own_host,
    seen,
)
from muster.service.api.views.files import show_ignored
from muster.service.api.views.hosts import show_peer
from muster.service.decisions import clusters as decide
from muster.service.decisions.house import found_cluster
from muster.service.decisions.operators import Offered
from muster.service.decisions.settings import refuse_settings, tell_without_effect
from muster.service.realm import Draft, Realm
from muster.service.state import Cluster

T = TypeVar("T")


def realm_of(call: Call) -> Realm:
    """The realm of the cluster that the path names."""
    return call.service.engine.realm_of("cluster", call.ids["cluster_id"])


def cluster_of(call: Call) -> Cluster:
    """The cluster that the path names."""
    return call.service.engine.cluster(call.ids["cluster_id"])


async def change(call: Call, decision: Callable[[Draft], T]) -> T:
    """Decide something about the cluster that the path names."""
    return await call.service.change(lambda: realm_of(call), decision, call.request_id)


@answers("v2RegisterCluster")
async def register_cluster(call: Call) -> Reply:
    params, around = _choose_release(call, call.decode(ClusterCreateParams)), call.service.around
    refuse_settings(params, call.service.around.driver.kind)
    own = (around.vault.seal, offered_of(call, params.openshift_version, params.cpu_architecture or ""))
    if around.house.mode == "interactive":
        return await _found(call, params, own)
    id = call.service.new_id()

    def decision(draft: Draft) -> Cluster:
        made = decide.register_cluster(draft, id, params, *own)
        tell_without_effect(draft, made, params, call.service.around.driver.kind)
        return made

    return await _create(call, id, decision)


async def _found(call: Call, params: ClusterCreateParams, own: tuple[decide.Seal, Offered]) -> Reply:
    """The one cluster that this service is for."""
    service, house = call.service, call.service.around.house
    assert house.meeting is not None
    id, pool = house.meeting.cluster_id, house.meeting.infra_env_id

    def decision(draft: Draft, pool: Draft) -> None:
        tell_without_effect(
            draft, found_cluster(draft, pool, house, params, own), params, call.service.around.driver.kind
        )

    try:
        await service.move(
            lambda: (service.engine.create(id), service.engine.realm_of("infra-env", pool)),
            decision,
            call.request_id,
        )
    except BaseException:
        service.engine.drop_empty(id)
        raise
    return await cluster_reply(call, id, 201)


def offered_of(call: Call, version: str, architecture: str) -> Offered:
    """What can be chosen on top of a release; nothing when that is not there yet."""
    found = call.service.around.find_release(version, architecture or "x86_64")
    return () if isinstance(found, str) else found.add_ons


def _choose_release(call: Call, params: ClusterCreateParams) -> ClusterCreateParams:
    """The whole version of the release that is meant, if it is one of ours."""
    if params.ocp_release_image:
        return params
    offer = call.service.around.offers.find(params.openshift_version, params.cpu_architecture or "")
    return params if offer is None else msgspec.structs.replace(params, openshift_version=offer.version)


@answers("v2ImportCluster")
async def import_cluster(call: Call) -> Reply:
    params, id = call.decode(ImportClusterParams), call.service.new_id()
    return await _create(call, id, lambda draft: decide.import_cluster(draft, id, params))


@answers("v2RegisterDisconnectedCluster")
async def register_disconnected(call: Call) -> Reply:
    params, id = call.decode(DisconnectedClusterCreateParams), call.service.new_id()
    return await _create(call, id, lambda draft: decide.register_disconnected(draft, id, params))


async def _create(call: Call, id: str, decision: Callable[[Draft], Cluster]) -> Reply:
    engine = call.service.engine
    try:
        await call.service.change(lambda: engine.create(id), decision, call.request_id)
    except BaseException:
        engine.drop_empty(id)
        raise
    return await cluster_reply(call, id, 201)


@answers("v2ListClusters")
async def list_clusters(call: Call) -> Reply:
    wanted = call.query.get("openshift_cluster_id")
    with_hosts = call.flag("with_hosts") is True
    engine = call.service.engine
    found = [
        each.id
        for each in engine.clusters()
        if wanted in (None, each.openshift_cluster_id) and call.sees(cluster_id=each.id)
    ]

    def see() -> list[tuple[Piece, int]]:
        return [cluster_piece(call, id, with_hosts=with_hosts) for id in found if id in engine.realms]

    pieces = await seen(call, found, see)
    return await list_reply(call, [piece for piece, _ in pieces], sum(hosts for _, hosts in pieces))


@answers("v2GetCluster")
async def get_cluster(call: Call) -> Reply:
    return await cluster_reply(call, call.ids["cluster_id"], with_hosts=not call.flag("exclude-hosts"))


@answers("V2UpdateCluster")
async def update_cluster(call: Call) -> Reply:
    params, seal, cluster = (
        call.decode(V2ClusterUpdateParams),
        call.service.around.vault.seal,
        cluster_of(call),
    )
    refuse_settings(params, call.service.around.driver.kind)
    offered = offered_of(call, cluster.openshift_version, cluster.cpu_architecture)

    def decision(draft: Draft) -> None:
        tell_without_effect(
            draft,
            decide.update_cluster(draft, params, seal, offered),
            params,
            call.service.around.driver.kind,
        )

    await change(call, decision)
    return await cluster_reply(call, call.ids["cluster_id"], 201)


@answers("v2DeregisterCluster")
async def deregister_cluster(call: Call) -> Reply:
    engine, files = call.service.engine, call.service.store.documents(realm_of(call).id)

    def concerned() -> list[Realm]:
        """The cluster, and all infra-envs that are of it or lent hosts to it."""
        realm = realm_of(call)
        lenders = {host.infra_env_id for host in realm.hosts.values()}
        pools = [each.id for each in engine.infra_envs() if each.cluster_id == realm.id or each.id in lenders]
        return [realm, *(engine.realm_of("infra-env", id) for id in pools)]

    await call.service.move(
        concerned,
        lambda draft, *pools: decide.deregister_cluster(draft, files, *pools),
        call.request_id,
    )
    await call.service.logs.remove(call.ids["cluster_id"])
    return empty()


@answers("ListClusterHosts")
async def list_cluster_hosts(call: Call) -> Reply:
    role, status = call.query.get("role"), call.query.get("status")
    parts = {
        part: call.flag(part.replace("_", "-")) is True for part in ("with_connectivity", "with_inventory")
    }

    own = own_host(call)

    def see() -> list[Piece]:
        hosts = (
            host
            for host in realm_of(call).hosts.values()
            if role in (None, host.role, host.suggested_role) and status in (None, host.status)
        )
        return host_pieces(
            call, hosts, mask=lambda host: host if own in (None, host.id) else show_peer(host), **parts
        )

    return await list_reply(call, await seen(call, (realm_of(call).id,), see))


@answers("v2GetIgnoredValidations")
async def get_ignored(call: Call) -> Reply:
    return reply(show_ignored(cluster_of(call)))


@answers("v2SetIgnoredValidations")
async def set_ignored(call: Call) -> Reply:
    wanted = call.decode(IgnoredValidations)
    await change(call, lambda draft: decide.ignore_validations(draft, wanted))
    return reply(show_ignored(cluster_of(call)), 201)


@answers("V2GetClusterUISettings")
async def get_ui_settings(call: Call) -> Reply:
    return reply(cluster_of(call).ui_settings)


@answers("V2UpdateClusterUISettings")
async def update_ui_settings(call: Call) -> Reply:
    text = call.decode(str)
    await change(call, lambda draft: draft.change(draft.cluster, ui_settings=text))
    return reply(text)
