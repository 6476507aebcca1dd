# SPDX-License-Identifier: Apache-2.0
"""Answers to what runs on hosts: register, what to do next, what came of it, how far it is."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from muster.model.wire.host import HostCreateParams, HostProgress
from muster.model.wire.reports import StepReply
from muster.service.api.call import Call, Reply, answers, empty, reply
from muster.service.api.hosts import change
from muster.service.api.showing import shown_host
from muster.service.api.views.hosts import show_registration
from muster.service.decisions.clusters import release_infra_env
from muster.service.decisions.replies import take_reply
from muster.service.derive.names import effective_name
from muster.service.polling import Poll, answer_poll, plan_next
from muster.service.realm import Draft, Realm
from muster.service.refusals import BadRequest, Forbidden, NotFound, StateConflict
from muster.service.state import Host
from muster.service.states import host as states

TOKEN_HEADER: Final = "x-muster-host-token"  # noqa: S105 - the name of a header
"""In the answer to a registration: a token that is good for that host alone."""
_RETRY_S: Final = 60
_STILL_THERE: Final = timedelta(seconds=60)


@answers("v2RegisterHost")
async def register_host(call: Call) -> Reply:
    params, service = call.decode(HostCreateParams), call.service
    infra_env_id, host_id = call.ids["infra_env_id"], _check_id(params.host_id)
    if not call.sees(infra_env_id=infra_env_id, host_id=host_id):
        raise Forbidden("this token is for another host", hint="register with the token of the boot medium")
    version = params.discovery_agent_version or call.headers.get("discovery_agent_version", "")

    def decision(draft: Draft) -> None:
        now = draft.now
        host = Host(
            id=host_id,
            infra_env_id=infra_env_id,
            cluster_id=None if draft.is_pool else draft.cluster.id,
            status="discovering",
            status_updated_at=now,
            created_at=now,
            updated_at=now,
            registered_at=now,
            discovery_agent_version=version,
        )
        states.register(draft, host)
        if not _is_own(call):
            _enrol_again(draft, host_id, call.service.engine.heard.get(host_id))

    await _check_cluster(call, infra_env_id)
    await service.change(lambda: _home(call, infra_env_id, host_id), decision, call.request_id)
    service.sent.pop(host_id, None)
    service.upkeep.note(host_id)
    host = service.engine.host(host_id, infra_env_id)
    token = service.around.host_tokens.issue(infra_env_id, host_id)
    shown = show_registration(shown_host(call, host), version, _RETRY_S)
    return reply(shown, 201, (TOKEN_HEADER, token))


def _enrol_again(draft: Draft, host_id: str, heard_at: datetime | None) -> None:
    """A machine that booted its medium has the medium's token and nothing else: it gets a new one of its own.

    Whoever has the medium can say the same of a host that runs, so that is told.
    """
    host = draft.hosts[host_id]
    if host.enrolled and heard_at is not None and draft.now - heard_at < _STILL_THERE:
        message = (
            f"Host {effective_name(host) or host.id}: registered with the token of its medium while it was"
            " running with one of its own; if it was not restarted, somebody else has the medium"
        )
        draft.tell(host, "host_enrolled_again", message, severity="warning")
    draft.change(host, enrolled=False, enrolment=host.enrolment + 1)


async def _check_cluster(call: Call, infra_env_id: str) -> None:
    """An infra-env may be of a cluster that somebody deleted while it was made: then it is of none."""
    service = call.service
    if service.engine.has_cluster(service.engine.infra_env(infra_env_id).cluster_id):
        return
    await service.look_again()
    if not service.engine.has_cluster(service.engine.infra_env(infra_env_id).cluster_id):
        await service.change(lambda: service.engine.realm_of("infra-env", infra_env_id), release_infra_env)


def _home(call: Call, infra_env_id: str, host_id: str) -> Realm:
    """Where a host belongs: where it is already, else with its infra-env's cluster, else into the pool."""
    engine = call.service.engine
    infra_env = engine.infra_env(infra_env_id)
    if host_id in engine.members(infra_env_id):
        return engine.realm_of("host", host_id)
    if (elsewhere := engine.find_host(host_id)) is not None:
        raise StateConflict(
            f"host {host_id} is in infra-env {elsewhere.infra_env_id} already",
            hint="delete it there before it boots another medium",
        )
    if infra_env.cluster_id is not None:
        return engine.realm_of("cluster", infra_env.cluster_id)
    return engine.realm_of("infra-env", infra_env_id)


def _check_id(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise BadRequest(f"host_id: {text!r} is no UUID", hint="take the UUID of the machine") from None


@answers("v2GetNextSteps")
async def next_steps(call: Call) -> Reply:
    service, engine = call.service, call.service.engine
    id, infra_env_id = call.ids["host_id"], call.ids["infra_env_id"]
    host = engine.host(id, infra_env_id)
    patience = call.patience_s
    poll = Poll(call.number("timestamp", 0), enrolled=_is_own(call), waits=patience > 0)
    found = await answer_poll(service, host, poll)
    end = asyncio.get_running_loop().time() + patience
    while not found.is_worth_it and not service.news.is_closed:
        left = end - asyncio.get_running_loop().time()
        if left <= 0:
            break
        await service.news.wait(id, found.seconds_to_look(left))
        service.upkeep.note(id)
        found = plan_next(service, engine.host(id, infra_env_id), waits=True)
    await found.hand_out()
    return reply(found.steps)


def _is_own(call: Call) -> bool:
    return call.grant is not None and call.grant.scope.host_id is not None


@answers("v2PostStepReply")
async def post_reply(call: Call) -> Reply:
    answer, id = call.decode(StepReply), call.ids["host_id"]
    call.service.upkeep.note(id)
    call.service.note_answered(id, answer)
    await change(call, lambda draft, host: take_reply(draft, host, answer, states.installation_failed))
    return empty()


@answers("v2UpdateHostInstallProgress")
async def update_progress(call: Call) -> Reply:
    told = call.decode(HostProgress)
    stage = told.current_stage
    if stage is None:
        raise BadRequest("current_stage is missing", hint="say which stage is reached")
    id, service = call.ids["host_id"], call.service
    service.upkeep.note(id)
    try:
        await change(call, lambda draft, host: states.progress(draft, host, stage, told.progress_info or ""))
    except NotFound:
        if service.on_stranger is not None:
            await service.on_stranger(id, told.progress_info or id)
        raise
    return empty(200)
