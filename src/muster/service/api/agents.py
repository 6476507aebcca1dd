# SPDX-License-Identifier: Apache-2.0
"""Answers to what runs on hosts: register, what to do next, what came of it, how far it is."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final
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
from muster.redact import printable
from muster.service.api.call import Call, Reply, answers, empty, error_reply, reply
from muster.service.api.hosts import change, realm_of
from muster.service.api.showing import host_reply, shown_host
from muster.service.api.views.hosts import show_noted, show_registration
from muster.service.auth.personas import Persona
from muster.service.decisions.clusters import release_infra_env
from muster.service.decisions.enrolment import (
    HEARD,
    Claim,
    Ruling,
    approve,
    enrol,
    epoch_of_host,
    is_heard,
    note_medium_boot,
    request_approval,
    rule_on,
    tell_refused,
    withdraw_request,
)
from muster.service.decisions.replies import take_reply
from muster.service.polling import Poll, answer_poll, asked_of, plan_next
from muster.service.realm import Draft, Realm
from muster.service.refusals import BadRequest, Forbidden, NotFound, StateConflict
from muster.service.state import Host
from muster.service.states import host as states

TOKEN_HEADER: Final = "x-muster-host-token"  # noqa: S105 - the name of a header
"""In the answer to a registration: a token that is good for that host alone."""
_RETRY_S: Final = 60
_APPROVAL_S: Final = 15
_LONGEST_VERSION: Final = 100
_LONGEST_INFO: Final = 2000


@answers("v2RegisterHost")
async def register_host(call: Call) -> Reply:
    params, service = call.decode(HostCreateParams), call.service
    infra_env_id, host_id = call.ids["infra_env_id"], _check_id(params.host_id)
    if not call.sees(infra_env_id=infra_env_id, host_id=host_id):
        raise Forbidden("this token is for another host", hint="register with the token of the boot medium")
    version = params.discovery_agent_version or call.headers.get("discovery_agent_version", "")
    version = printable(version[:_LONGEST_VERSION])
    claim = _claim_of(call, host_id, version)
    if refused := _refuse_many(call, host_id, claim):
        return refused
    await _check_cluster(call, infra_env_id)
    ruling, epoch = await _decide(call, host_id, claim)
    if ruling not in (Ruling.ACCEPT, Ruling.ENROL, Ruling.NOTE):
        return _refuse(call, host_id, ruling, claim)
    shown = shown_host(call, service.engine.host(host_id, infra_env_id))
    if ruling is Ruling.NOTE:
        return reply(show_registration(show_noted(shown), version, _RETRY_S), 201)
    service.sent.pop(host_id, None)
    token = service.around.host_tokens.issue(infra_env_id, host_id, epoch)
    return reply(show_registration(shown, version, _RETRY_S), 201, (TOKEN_HEADER, token))


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


def _refuse_many(call: Call, host_id: str, claim: Claim) -> Reply | None:
    """The answer to a registration when there are too many: of new hosts, or of what one host writes."""
    service, infra_env_id = call.service, call.ids["infra_env_id"]
    if _is_itself(call, host_id, claim):
        return refuse_writes(call, host_id)
    is_new = service.engine.find_host(host_id) is None and (claim.key or service.around.house.admits_keyless)
    if not is_new or call.grant is None or call.grant.persona is Persona.USER:
        return None
    if not service.bounds.has_space():
        return refuse_writes(call, host_id)
    if service.bounds.may_register(infra_env_id, call.client, service.now().timestamp()):
        return None
    reason = f"too many new hosts of infra-env {infra_env_id} registered; register again later"
    return error_reply(429, reason, ("retry-after", str(_APPROVAL_S)))


def _is_itself(call: Call, host_id: str, claim: Claim) -> bool:
    """Whether it is the host that the service knows, and nobody else with the medium."""
    known = call.service.engine.find_host(host_id)
    has_its_key = known is not None and claim.is_proved and claim.key == known.public_key
    return claim.has_own_token or has_its_key


def _may_note(call: Call, host_id: str) -> bool:
    """Whether it is noted once more that somebody else with the medium registers as a host."""
    service = call.service
    return service.host_events.take(f"registration/{host_id}", 1, service.now().timestamp()).granted > 0


async def _decide(call: Call, host_id: str, claim: Claim) -> tuple[Ruling, int]:
    """Decide on a registration, and do what was decided; also says which epoch its token is of."""
    service, infra_env_id = call.service, call.ids["infra_env_id"]
    is_person = call.grant is not None and call.grant.persona is Persona.USER
    rulings: list[tuple[Ruling, int]] = []
    before: datetime | None = None
    noted: datetime | None = None
    """When the host was heard before this call, and when this call noted it: the decision may run again."""

    def decision(draft: Draft) -> None:
        nonlocal before, noted
        known = draft.hosts.get(host_id)
        heard_at = service.engine.heard.get(host_id)
        if noted is None or heard_at != noted:
            before = heard_at
        ruling = rule_on(
            known,
            claim,
            draft.now,
            is_heard=known is not None and is_heard(known, before, draft.now),
            admits_keyless=is_person or service.around.house.admits_keyless,
        )
        if known is not None:
            _report(call, draft, known, claim, ruling)
        if ruling in (Ruling.ACCEPT, Ruling.ENROL):
            states.register(draft, _new_host(draft, infra_env_id, host_id, claim))
        if ruling is Ruling.ENROL:
            enrol(draft, host_id, claim)
        if ruling is Ruling.ACCEPT:
            withdraw_request(draft, draft.hosts[host_id])
        if ruling in (Ruling.ACCEPT, Ruling.ENROL):
            # Now, not after the commit: of two with different keys, one gets the place.
            service.upkeep.note(host_id)
            noted = service.engine.heard.get(host_id)
        rulings.append((ruling, epoch_of_host(draft.hosts[host_id]) if host_id in draft.hosts else 0))

    host = host_id if _is_itself(call, host_id, claim) else ""
    await service.change(lambda: _home(call, infra_env_id, host_id), decision, call.request_id, host=host)
    return rulings[-1]


def _report(call: Call, draft: Draft, host: Host, claim: Claim, ruling: Ruling) -> None:
    """Report a registration that was refused, as far as people have to know of it."""
    if ruling is Ruling.ASK:
        request_approval(draft, host, claim)
    elif ruling is Ruling.HEARD and _may_note(call, host.id):
        tell_refused(draft, host, claim)
    elif ruling in (Ruling.NOTE, Ruling.JOINED) and _may_note(call, host.id):
        note_medium_boot(draft, host, claim)


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
        wait = _seconds_until_silent(call, host_id)
        reason = (
            f"host {host_id} is running with another key; if it was restarted, it can register in {wait} s."
            " If another machine took its place, a person approves the key of this machine"
        )
        reason += f": {shown}" if shown else ""
        return error_reply(503, reason, ("retry-after", str(wait)))
    if ruling is Ruling.JOINED:
        reason = (
            f"the disk of host {host_id} is complete, and it has reported from its own system: this machine"
            f" booted the medium with the key {shown}; make its disk the first boot device, and restart it"
        )
        return error_reply(403, reason, ("retry-after", str(_RETRY_S)))
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


def _seconds_until_silent(call: Call, host_id: str) -> int:
    """How long a host counts as running if it is not heard again."""
    service = call.service
    host, now = service.engine.find_host(host_id), service.now()
    heard_at = service.engine.heard.get(host_id, now)
    last = heard_at if host is None else max(heard_at, host.registered_at)
    return max(1, math.ceil(min((last + HEARD - now).total_seconds(), HEARD.total_seconds())))


@answers("v2ApproveHostEnrolment")
async def approve_enrolment(call: Call) -> Reply:
    wanted, heard = call.decode(EnrolmentApproval).key, call.service.engine.heard

    def decision(draft: Draft, host: Host) -> None:
        approve(draft, host, wanted, is_heard=is_heard(host, heard.get(host.id), draft.now))

    await change(call, decision)
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
    end = asyncio.get_running_loop().time() + patience
    with service.bounds.newest(id, lambda host_id: service.news.call((host_id,))) as is_newest:
        found = await answer_poll(service, host, poll)
        while not found.is_worth_it and not service.news.is_closed:
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await service.news.wait(id, found.seconds_to_look(left))
            if not is_newest():  # There was nothing to do, and the later question is told what comes now.
                return reply(found.steps)
            service.upkeep.note(id)
            found = plan_next(service, engine.host(id, infra_env_id), waits=True)
        await found.hand_out()
    return reply(found.steps)


def _is_own(call: Call) -> bool:
    """Whether the caller has the host's own token; a simulated host has none, and is trusted."""
    return call.grant is None or call.grant.persona is Persona.HOST


@answers("v2PostStepReply")
async def post_reply(call: Call) -> Reply:
    answer, id, service = call.decode(StepReply), call.ids["host_id"], call.service
    service.upkeep.note(id)
    if refused := refuse_writes(call, id, realm_of(call).id):
        return refused
    service.note_answered(id, answer)
    asked = asked_of(service, service.engine.host(id), answer.step_type)
    await _change(
        call, lambda draft, host: take_reply(draft, host, answer, states.installation_failed, asked)
    )
    return empty()


def refuse_writes(call: Call, host_id: str, realm: str = "", floor: float = 1.0) -> Reply | None:
    """The answer to a host that may cause nothing to be written for now."""
    if not call.service.bounds.has_space(floor):
        reason = "the disk of the service is almost full: what hosts report is not written"
        return error_reply(503, reason, ("retry-after", str(_RETRY_S)), hint="free disk space there")
    wait = call.service.bounds.seconds_to_write(host_id, realm, call.service.now().timestamp())
    if not wait:
        return None
    reason = f"host {host_id}, or all hosts of its cluster, reported too much; report again in {wait} s"
    return error_reply(429, reason, ("retry-after", str(wait)))


async def _change(call: Call, decision: Callable[[Draft, Host], Any]) -> None:
    """Decide something that a host caused, which counts against its allowance."""
    id = call.ids["host_id"]
    await call.service.change(
        lambda: realm_of(call), lambda draft: decision(draft, draft.hosts[id]), call.request_id, host=id
    )


@answers("v2UpdateHostInstallProgress")
async def update_progress(call: Call) -> Reply:
    told = call.decode(HostProgress)
    stage = told.current_stage
    if stage is None:
        raise BadRequest("current_stage is missing", hint="say which stage is reached")
    id, service, info = call.ids["host_id"], call.service, (told.progress_info or "")[:_LONGEST_INFO]
    service.upkeep.note(id)
    # Half of the space that is left goes to installations, so that those that run can end.
    if refused := refuse_writes(call, id, floor=0.5):
        return refused

    def decision(draft: Draft, host: Host) -> None:
        if _is_own(call):
            withdraw_request(draft, host)
        states.progress(draft, draft.hosts[host.id], stage, info)

    try:
        await _change(call, decision)
    except NotFound:
        if service.on_stranger is not None:
            await service.on_stranger(_check_id(id), info or id)
        raise
    return empty(200)
