# SPDX-License-Identifier: Apache-2.0
"""Answers to what runs on hosts: register, what to do next, what came of it, how far it is."""

from __future__ import annotations

import asyncio
import math
from datetime import timedelta
from typing import Final
from uuid import UUID

from muster.model.host_key import (
    CHALLENGE_HEADER,
    KEY_BYTES,
    KEY_HEADER,
    PROOF_HEADER,
    decode,
    fingerprint,
)
from muster.model.wire.host import EnrolmentApproval, HostCreateParams, HostProgress
from muster.model.wire.reports import StepReply
from muster.service.api.call import Call, Reply, answers, empty, error_reply, reply
from muster.service.api.hosts import change
from muster.service.api.showing import host_reply, shown_host
from muster.service.api.views.hosts import show_registration
from muster.service.auth.personas import Persona
from muster.service.decisions.clusters import release_infra_env
from muster.service.decisions.enrolment import Claim, Ruling, approve, enrol, request_approval, rule_on
from muster.service.decisions.replies import take_reply
from muster.service.polling import Poll, answer_poll, plan_next
from muster.service.realm import Draft, Realm
from muster.service.refusals import BadRequest, Forbidden, NotFound, StateConflict
from muster.service.state import Host
from muster.service.states import host as states

TOKEN_HEADER: Final = "x-muster-host-token"  # noqa: S105 - the name of a header
"""In the answer to a registration: a token that is good for that host alone."""
_RETRY_S: Final = 60
_APPROVAL_S: Final = 15
_HEARD: Final = timedelta(seconds=60)
"""A host that called so recently is running."""


@answers("v2RegisterHost")
async def register_host(call: Call) -> Reply:
    params, service = call.decode(HostCreateParams), call.service
    infra_env_id, host_id = call.ids["infra_env_id"], _check_id(params.host_id)
    if not call.sees(infra_env_id=infra_env_id, host_id=host_id):
        raise Forbidden("this token is for another host", hint="register with the token of the boot medium")
    version = params.discovery_agent_version or call.headers.get("discovery_agent_version", "")
    claim = _claim_of(call, host_id, version)
    await _check_cluster(call, infra_env_id)
    ruling = await _decide(call, host_id, claim)
    if ruling not in (Ruling.ACCEPT, Ruling.ENROL, Ruling.NOTE):
        return _refuse(call, host_id, ruling, claim)
    service.sent.pop(host_id, None)
    if ruling is not Ruling.NOTE:
        service.upkeep.note(host_id)
    host = service.engine.host(host_id, infra_env_id)
    shown = show_registration(shown_host(call, host), version, _RETRY_S)
    if ruling is Ruling.NOTE:
        return reply(shown, 201)
    return reply(shown, 201, (TOKEN_HEADER, service.around.host_tokens.issue(infra_env_id, host_id)))


def _claim_of(call: Call, host_id: str, version: str) -> Claim:
    """What the caller shows: its key, and the proof that it has it."""
    key = call.headers.get(KEY_HEADER.lower(), "")
    if key and decode(key, KEY_BYTES) is None:
        raise BadRequest(f"{KEY_HEADER} is not a public key", hint="send an Ed25519 key as base64")
    signed = (call.headers.get(CHALLENGE_HEADER.lower(), ""), call.headers.get(PROOF_HEADER.lower(), ""))
    is_proof = call.service.around.host_tokens.is_proof
    return Claim(
        key=key,
        is_proved=bool(key and all(signed)) and is_proof(key, call.ids["infra_env_id"], host_id, signed),
        has_own_token=_is_own(call),
        address=call.client,
        agent_version=version,
    )


async def _decide(call: Call, host_id: str, claim: Claim) -> Ruling:
    """Decide on a registration, and do what was decided."""
    service, infra_env_id = call.service, call.ids["infra_env_id"]
    is_person = call.grant is not None and call.grant.persona is Persona.USER
    rulings = []

    def decision(draft: Draft) -> None:
        known = draft.hosts.get(host_id)
        heard_at = service.engine.heard.get(host_id)
        ruling = rule_on(
            known,
            claim,
            is_heard=heard_at is not None and draft.now - heard_at < _HEARD,
            admits_keyless=is_person or service.around.house.admits_keyless,
        )
        rulings.append(ruling)
        if ruling is Ruling.ASK and known is not None:
            request_approval(draft, known, claim)
        if ruling in (Ruling.ACCEPT, Ruling.ENROL, Ruling.NOTE):
            states.register(draft, _new_host(draft, infra_env_id, host_id, claim))
        if ruling is Ruling.ENROL:
            enrol(draft, host_id, claim)

    await service.change(lambda: _home(call, infra_env_id, host_id), decision, call.request_id)
    return rulings[-1]


def _new_host(draft: Draft, infra_env_id: str, host_id: str, claim: Claim) -> Host:
    now = draft.now
    return Host(
        id=host_id,
        infra_env_id=infra_env_id,
        cluster_id=None if draft.is_pool else draft.cluster.id,
        status="discovering",
        status_updated_at=now,
        created_at=now,
        updated_at=now,
        registered_at=now,
        discovery_agent_version=claim.agent_version,
    )


def _refuse(call: Call, host_id: str, ruling: Ruling, claim: Claim) -> Reply:
    """The answer to a registration that is not accepted, or not yet."""
    service, infra_env_id = call.service, call.ids["infra_env_id"]
    shown = fingerprint(claim.key) if claim.key else ""
    if ruling is Ruling.PROVE:
        challenge = service.around.host_tokens.challenge(infra_env_id, host_id)
        reason = f"host {host_id} is bound to a key: sign the challenge with it, and register again"
        return error_reply(401, reason, (CHALLENGE_HEADER.lower(), challenge))
    if ruling is Ruling.HEARD:
        heard_at = service.engine.heard.get(host_id, service.now())
        wait = max(1, math.ceil((heard_at + _HEARD - service.now()).total_seconds()))
        reason = (
            f"host {host_id} is running with another key; if it was restarted, it can register in {wait} s"
        )
        return error_reply(503, reason, ("retry-after", str(wait)))
    if ruling is Ruling.ASK:
        reason = (
            f"host {host_id} is being installed and comes with the new key {shown}: "
            "a person has to approve it, on the page or with `muster agent approve-host`"
        )
        return error_reply(403, reason, ("retry-after", str(_APPROVAL_S)))
    reason = (
        "hosts without a key cannot register here, or not in the state that this host is in; "
        "boot a medium of Muster, or start the service with --admit-keyless-hosts"
    )
    return error_reply(403, reason)


@answers("v2ApproveHostEnrolment")
async def approve_enrolment(call: Call) -> Reply:
    wanted = call.decode(EnrolmentApproval).key
    await change(call, lambda draft, host: approve(draft, host, wanted))
    return await host_reply(call, call.ids["host_id"])


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
    """Whether the caller has the host's own token; a simulated host has none, and is trusted."""
    return call.grant is None or call.grant.persona is Persona.HOST


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
