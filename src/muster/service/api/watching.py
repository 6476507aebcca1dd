# SPDX-License-Identifier: Apache-2.0
"""Answers to those who look on: events, what changes, what is waited for, and how the service itself is."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec

from muster.model.wire.files import Event as WireEvent
from muster.service.api.call import Call, Reply, answers, empty, read_number, reply
from muster.service.api.clusters import cluster_of, realm_of
from muster.service.api.showing import own_host, seen
from muster.service.api.table.own import Health, Readiness
from muster.service.api.table.route import PREFIX
from muster.service.api.views.files import show_event
from muster.service.auth.personas import Persona
from muster.service.edge.rate import Taken
from muster.service.realm import Draft, Realm
from muster.service.refusals import BadRequest, Forbidden, TooManyEvents
from muster.service.replies.reading import check_numbers
from muster.service.state import Cluster, Host, InfraEnv, Kind, Subject
from muster.service.store.port import Logged, Wanted
from muster.service.validations.registry import texts
from muster.service.why import Why, why
from muster.service.wizard import WizardStep, wizard_steps

_SEVERITIES: Final = ("info", "warning", "error", "critical")
_LIMIT: Final = 5000
_MOST_CHARACTERS: Final = {"name": 256, "message": 4096, "props": 8192}
"""Of an event that a caller writes."""
_KEEP_ALIVE_S: Final = 15.0


@answers("v2ListEvents")
async def list_events(call: Call) -> Reply:
    found = await asyncio.to_thread(call.service.store.told, _wanted(call))
    shown = [each for each in found if _is_of_infra_env(call, each) and _is_seen(call, each)]
    if call.query.get("order") == "descending":
        shown.reverse()
    counts = Counter(each.event.severity for each in shown)
    headers = [(f"Severity-Count-{word.capitalize()}", str(counts[word])) for word in _SEVERITIES]
    headers.append(("Event-Count", str(len(shown))))
    offset, limit = call.number("offset", 0), call.number("limit", _LIMIT)
    if offset < 0 or limit < -1:
        raise BadRequest("offset and limit cannot be negative", hint="-1 is no limit")
    end = None if limit == -1 else offset + limit
    return reply([_show(call, each) for each in shown[offset:end]], 200, *headers)


def _show(call: Call, logged: Logged) -> WireEvent:
    realm = call.service.engine.realms.get(logged.realm)
    if realm is None or realm.cluster is not None:
        host = realm.hosts.get(logged.event.id) if realm is not None else None
        infra_env_id = host.infra_env_id if host is not None else None
        return show_event(logged.event, cluster_id=logged.realm, infra_env_id=infra_env_id)
    return show_event(logged.event, infra_env_id=logged.realm)


def _wanted(call: Call) -> Wanted:
    engine, realms = call.service.engine, None
    if cluster_id := call.query.get("cluster_id"):
        realms = frozenset({cluster_id})
    elif infra_env_id := call.query.get("infra_env_id"):
        hosts = engine.hosts_of(infra_env_id)
        realms = frozenset({infra_env_id, *(host.cluster_id for host in hosts if host.cluster_id)})
    elif call.grant is not None and call.grant.scope.cluster_id:
        realms = frozenset({call.grant.scope.cluster_id})
    hosts_named = frozenset({*call.words("host_ids"), *filter(None, [call.query.get("host_id")])})
    cluster_level = call.flag("cluster_level")
    return Wanted(
        realms=realms,
        host_ids=hosts_named,
        cluster_level=cluster_level is True if hosts_named else cluster_level is not False,
        severities=frozenset(call.words("severities")),
        categories=frozenset(call.words("categories")) or frozenset({"user"}),
        message=call.query.get("message", ""),
    )


def _is_of_infra_env(call: Call, logged: Logged) -> bool:
    """With an infra-env named: its own events, and those of its hosts."""
    wanted = call.query.get("infra_env_id")
    if not wanted or logged.realm == wanted:
        return True
    return logged.event.kind == "host" and logged.event.id in call.service.engine.members(wanted)


def _is_seen(call: Call, logged: Logged) -> bool:
    """Whether an event is for the caller to see."""
    if call.grant is None or not call.grant.is_scoped:
        return True
    shown = _show(call, logged)
    return call.sees(infra_env_id=shown.infra_env_id, cluster_id=shown.cluster_id, host_id=shown.host_id)


@answers("v2TriggerEvent")
async def trigger_event(call: Call) -> Reply:
    event = call.decode(WireEvent)
    kind, id = _subject_of(event)
    realm = call.service.engine.realm_of(kind, id)
    subject = realm.find(kind, id)
    assert subject is not None
    if not _is_for(call, realm, subject):
        raise Forbidden("this token is for something else", hint="tell of what the token is for")
    _check_size(event)
    props = {name: value for name, value in _props(event).items() if name != "severity"}
    taken = _take(call, realm)

    def tell(draft: Draft) -> None:
        if taken.suppressed or taken.begins:
            draft.tell(subject, "events_suppressed", _suppressed(taken.suppressed), severity="warning")
        if taken.granted:
            draft.tell(subject, event.name or "event", event.message, severity=event.severity, **props)

    if taken.granted or taken.begins:
        await call.service.change(lambda: call.service.engine.realm_of(kind, id), tell, call.request_id)
    if taken.granted:
        return empty(201)
    raise TooManyEvents("too many events were sent; this one was suppressed", hint="send fewer of them")


def _suppressed(count: int) -> str:
    if count:
        return f"{count} events that hosts sent were suppressed: they sent too many"
    return "Events that hosts send are suppressed from now on: they send too many"


def _take(call: Call, realm: Realm) -> Taken:
    """Whether an event is kept: people may write any number, and hosts some."""
    grant = call.grant
    if grant is None or grant.persona is Persona.USER:
        return Taken(1)
    scope, now, service = grant.scope, call.service.now().timestamp(), call.service
    taken = service.host_events.take(scope.host_id or scope.infra_env_id or scope.cluster_id or "", 1, now)
    return service.realm_events.take(realm.id, 1, now) if taken == Taken(1) else taken


def _check_size(event: WireEvent) -> None:
    for name, most in _MOST_CHARACTERS.items():
        if len(getattr(event, name) or "") > most:
            raise BadRequest(f"{name} is longer than {most} characters", hint="send a shorter one")


def _subject_of(event: WireEvent) -> tuple[Kind, str]:
    """What an event is about: the smallest thing that it names."""
    named: tuple[tuple[Kind, str | None], ...] = (
        ("host", event.host_id),
        ("cluster", event.cluster_id),
        ("infra-env", event.infra_env_id),
    )
    for kind, id in named:
        if id:
            return kind, id
    raise BadRequest("the event is of nothing", hint="name its cluster_id, infra_env_id or host_id")


def _is_for(call: Call, realm: Realm, subject: Subject) -> bool:
    """Whether the caller's token is for a thing that the body of a request names."""
    if (caller := own_host(call)) is not None:
        return isinstance(subject, Host) and subject.id == caller
    if isinstance(subject, InfraEnv):
        return call.sees(infra_env_id=subject.id, cluster_id=subject.cluster_id)
    hosts = [subject] if isinstance(subject, Host) else realm.hosts.values()
    cluster_id = subject.cluster_id if isinstance(subject, Host) else subject.id
    if any(
        call.sees(infra_env_id=host.infra_env_id, cluster_id=cluster_id, host_id=host.id) for host in hosts
    ):
        return True
    own = call.service.engine.infra_envs() if isinstance(subject, Cluster) else ()
    return any(
        call.sees(infra_env_id=each.id, cluster_id=cluster_id)
        for each in own
        if each.cluster_id == cluster_id
    )


def _props(event: WireEvent) -> dict[str, Any]:
    try:
        props = msgspec.json.decode(event.props or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise BadRequest("props is not a JSON object in a string", hint='write it as "{}"') from None
    check_numbers(props, event.props or "")
    return props


@answers("v2GetClusterWhy")
async def get_why(call: Call) -> Reply:
    api = f"{call.service.around.url}{PREFIX}"

    def see() -> Why:
        return why(cluster_of(call), realm_of(call).hosts, call.service.now(), texts(), api)

    return reply(await seen(call, (realm_of(call).id,), see))


@answers("v2GetClusterSteps")
async def get_steps(call: Call) -> Reply:
    def see() -> tuple[WizardStep, ...]:
        cluster = cluster_of(call)
        return wizard_steps(cluster, realm_of(call).hosts, _release_trouble(call, cluster))

    return reply(await seen(call, (realm_of(call).id,), see))


def _release_trouble(call: Call, cluster: Cluster) -> str:
    """Why the release of a cluster that people are about to install is not there."""
    around = call.service.around
    if around.house.mode != "interactive":
        return ""
    found = around.find_release(cluster.openshift_version, cluster.cpu_architecture)
    return found if isinstance(found, str) else ""


@answers("v2Stream")
async def stream(call: Call) -> Reply:
    last = call.headers.get("last-event-id") or call.query.get("after")
    after = read_number("after", last) if last else None
    scope = call.grant.scope.cluster_id if call.grant is not None else None
    return Reply(200, _stream(call, after, scope), "text/event-stream", (("cache-control", "no-store"),))


def _seconds_left(call: Call) -> float:
    """How long whoever follows may do so: no longer than their login holds."""
    expires = call.grant.expires if call.grant is not None else None
    return math.inf if expires is None else expires - call.service.now().timestamp()


async def _stream(call: Call, after: int | None, realm: str | None) -> AsyncIterator[bytes]:
    """Server-sent events: what changed, and a comment now and then so that nobody thinks we are gone."""
    news = call.service.news.follow(after)
    yield b"retry: 1000\n\n"
    pending = asyncio.ensure_future(anext(news))
    try:
        while True:
            left = _seconds_left(call)
            if left <= 0:
                return
            done, _ = await asyncio.wait({pending}, timeout=min(_KEEP_ALIVE_S, left))
            if not done:
                yield b": still here\n\n"
                continue
            if call.service.news.is_closed:
                return
            each = pending.result()
            pending = asyncio.ensure_future(anext(news))
            if each is None:
                yield b"event: reset\ndata: {}\n\n"
            elif realm in (None, each.realm):
                body = msgspec.json.encode({"realm": each.realm, "subjects": each.subjects})
                yield b"id: %d\nevent: change\ndata: %s\n\n" % (each.number, body)
    finally:
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)
        await news.aclose()


@answers("health")
async def health(_call: Call) -> Reply:
    return reply(Health("ok"))


@answers("ready")
async def ready(call: Call) -> Reply:
    reason = await call.service.readiness.ask()
    return reply(
        Readiness(reason or "ready", call.service.around.warnings()),
        503 if reason else 200,
        ("cache-control", "no-store"),
    )
