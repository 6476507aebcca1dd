# SPDX-License-Identifier: Apache-2.0
"""Answers about hosts, to people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from muster.model.wire.host import BindHostParams, HostIgnitionParams, HostUpdateParams, InstallerArgsParams
from muster.service.api.call import Call, Reply, answers, empty, reply
from muster.service.api.showing import Piece, host_pieces, host_reply, list_reply, seen
from muster.service.decisions import hosts as decide
from muster.service.decisions.house import check_role
from muster.service.decisions.settings import refuse_settings, tell_without_effect
from muster.service.realm import Draft, Realm
from muster.service.state import Host
from muster.service.states import host as states
from muster.service.states import moves


def realm_of(call: Call) -> Realm:
    """The realm of the host that the path names; the infra-env has to be its own."""
    call.service.engine.host(call.ids["host_id"], call.ids["infra_env_id"])
    return call.service.engine.realm_of("host", call.ids["host_id"])


async def change(call: Call, decision: Callable[[Draft, Host], Any]) -> None:
    """Decide something about the host that the path names."""
    id = call.ids["host_id"]
    await call.service.change(
        lambda: realm_of(call), lambda draft: decision(draft, draft.hosts[id]), call.request_id
    )


@answers("v2ListHosts")
async def list_hosts(call: Call) -> Reply:
    infra_env_id = call.service.engine.infra_env(call.ids["infra_env_id"]).id

    def found() -> list[Host]:
        return [
            host
            for host in call.service.engine.hosts_of(infra_env_id)
            if call.sees(infra_env_id=infra_env_id, cluster_id=host.cluster_id, host_id=host.id)
        ]

    def see() -> list[Piece]:
        return host_pieces(call, (host for host in found() if host.realm in realms))

    realms = {host.realm for host in found()}
    return await list_reply(call, await seen(call, realms, see))


@answers("v2GetHost")
async def get_host(call: Call) -> Reply:
    realm_of(call)
    return await host_reply(call, call.ids["host_id"])


@answers("v2UpdateHost")
async def update_host(call: Call) -> Reply:
    params, seal = call.decode(HostUpdateParams), call.service.around.vault.seal
    house = call.service.around.house
    refuse_settings(params, call.service.around.driver.kind)

    def decision(draft: Draft, host: Host) -> None:
        check_role(house, host, params)
        tell_without_effect(
            draft, decide.update_host(draft, host, params, seal), params, call.service.around.driver.kind
        )

    await change(call, decision)
    return await host_reply(call, call.ids["host_id"], 201)


@answers("v2DeregisterHost")
async def deregister_host(call: Call) -> Reply:
    await change(call, decide.deregister_host)
    return empty()


@answers("v2UpdateHostInstallerArgs")
async def update_installer_args(call: Call) -> Reply:
    args = call.decode(InstallerArgsParams).args or ()
    await change(call, lambda draft, host: decide.update_installer_args(draft, host, args))
    return await host_reply(call, call.ids["host_id"], 201)


@answers("v2GetHostIgnition")
async def get_ignition(call: Call) -> Reply:
    realm = realm_of(call)
    return reply(HostIgnitionParams(config=realm.hosts[call.ids["host_id"]].ignition_config_overrides))


@answers("v2UpdateHostIgnition")
async def update_ignition(call: Call) -> Reply:
    params = call.decode(HostIgnitionParams)
    refuse_settings(params, call.service.around.driver.kind)
    await change(call, lambda draft, host: decide.update_ignition(draft, host, params.config or ""))
    return await host_reply(call, call.ids["host_id"], 201)


@answers("v2ResetHost")
async def reset_host(call: Call) -> Reply:
    await change(call, states.reset)
    return await host_reply(call, call.ids["host_id"])


@answers("v2ResetHostValidation")
async def reset_validation(call: Call) -> Reply:
    await change(call, lambda draft, host: decide.reset_validation(draft, host, call.ids["validation_id"]))
    return await host_reply(call, call.ids["host_id"])


@answers("v2InstallHost")
async def install_host(call: Call) -> Reply:
    await change(call, states.install_day2)
    return await host_reply(call, call.ids["host_id"], 202)


@answers("BindHost")
async def bind_host(call: Call) -> Reply:
    engine, id, cluster_id = call.service.engine, call.ids["host_id"], call.decode(BindHostParams).cluster_id
    await call.service.move(
        lambda: (realm_of(call), engine.realm_of("cluster", cluster_id)),
        lambda start, end: moves.bind(start, end, start.hosts[id]),
    )
    return await host_reply(call, id)


@answers("UnbindHost")
async def unbind_host(call: Call) -> Reply:
    engine, id = call.service.engine, call.ids["host_id"]
    await call.service.move(
        lambda: (realm_of(call), engine.realm_of("infra-env", call.ids["infra_env_id"])),
        lambda start, end: moves.unbind(start, end, start.hosts[id]),
    )
    return await host_reply(call, id)
