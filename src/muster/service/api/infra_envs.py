# SPDX-License-Identifier: Apache-2.0
"""Answers about infra-envs."""

from __future__ import annotations

from muster.model.wire.infra_env import (
    HostStaticNetworkConfig,
    InfraEnvCreateParams,
    InfraEnvUpdateParams,
)
from muster.service.api.call import Call, Reply, answers, empty, reply
from muster.service.api.views.infra_envs import show_infra_env
from muster.service.decisions import infra_envs as decide
from muster.service.decisions.settings import refuse_settings, tell_without_effect
from muster.service.masking import mask_shown
from muster.service.realm import Draft, Realm
from muster.service.state import InfraEnv


def realm_of(call: Call) -> Realm:
    """The realm of the infra-env that the path names."""
    return call.service.engine.realm_of("infra-env", call.ids["infra_env_id"])


async def _check_networks(call: Call, networks: tuple[HostStaticNetworkConfig, ...] | None) -> None:
    """BadRequest when hosts could not use these. Beside the event loop: it takes up to seconds."""
    around = call.service.around
    await around.background.compute_answer(lambda: around.media.check_networks(networks or ()))


async def _show(call: Call, infra_env: InfraEnv, status: int = 200) -> Reply:
    await call.service.settle(infra_env.id)
    return reply(show_infra_env(infra_env, *call.service.around.media.url_of(infra_env)), status)


@answers("RegisterInfraEnv")
async def register_infra_env(call: Call) -> Reply:
    params, id, service = call.decode(InfraEnvCreateParams), call.service.new_id(), call.service
    cluster = service.engine.cluster(params.cluster_id) if params.cluster_id else None
    await _check_networks(call, params.static_network_config)
    refuse_settings(params, call.service.around.driver.kind)
    key, seal = service.around.chance(16).hex(), service.around.vault.seal

    def decision(draft: Draft) -> None:
        made = decide.register_infra_env(draft, id, params, cluster, seal)
        draft.change(made, signing_key=key)
        tell_without_effect(draft, made, params, call.service.around.driver.kind)

    try:
        await service.change(lambda: service.engine.create(id), decision, call.request_id)
    except BaseException:
        service.engine.drop_empty(id)
        raise
    return await _show(call, service.engine.infra_env(id), 201)


@answers("ListInfraEnvs")
async def list_infra_envs(call: Call) -> Reply:
    wanted = call.query.get("cluster_id")
    found = [
        each
        for each in call.service.engine.infra_envs()
        if wanted in (None, each.cluster_id) and call.sees(infra_env_id=each.id, cluster_id=each.cluster_id)
    ]
    await call.service.settle(*(each.id for each in found))
    if call.is_viewer:
        return reply([mask_shown(show_infra_env(each)) for each in found])
    return reply([show_infra_env(each, *call.service.around.media.url_of(each)) for each in found])


@answers("GetInfraEnv")
async def get_infra_env(call: Call) -> Reply:
    return await _show(call, call.service.engine.infra_env(call.ids["infra_env_id"]))


@answers("UpdateInfraEnv")
async def update_infra_env(call: Call) -> Reply:
    params, seal = call.decode(InfraEnvUpdateParams), call.service.around.vault.seal
    await _check_networks(call, params.static_network_config)
    refuse_settings(params, call.service.around.driver.kind)

    def decision(draft: Draft) -> None:
        tell_without_effect(
            draft, decide.update_infra_env(draft, params, seal), params, call.service.around.driver.kind
        )

    await call.service.change(lambda: realm_of(call), decision, call.request_id)
    return await _show(call, call.service.engine.infra_env(call.ids["infra_env_id"]), 201)


@answers("DeregisterInfraEnv")
async def deregister_infra_env(call: Call) -> Reply:
    engine, id = call.service.engine, call.ids["infra_env_id"]
    bound = sum(1 for host in engine.hosts_of(id) if host.cluster_id)
    await call.service.change(
        lambda: realm_of(call), lambda draft: decide.deregister_infra_env(draft, bound), call.request_id
    )
    return empty()


@answers("RegenerateInfraEnvSigningKey")
async def renew_signing_key(call: Call) -> Reply:
    key = call.service.around.chance(16).hex()
    await call.service.change(
        lambda: realm_of(call), lambda draft: decide.renew_signing_key(draft, key), call.request_id
    )
    return empty()
