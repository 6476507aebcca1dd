# SPDX-License-Identifier: Apache-2.0
"""Answers to those who look on: events, what changes, what is waited for, and how the service itself is."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from muster.model.wire.files import Event as WireEvent
from muster.service.api.call import Call, Reply, answers, empty, reply
from muster.service.api.clusters import realm_of
from muster.service.api.table.route import PREFIX
from muster.service.api.views.files import show_event
from muster.service.refusals import BadRequest
from muster.service.store.port import Logged, Wanted
from muster.service.validations.registry import texts
from muster.service.why import why
from muster.service.wizard import wizard_steps

_SEVERITIES: Final = ("info", "warning", "error", "critical")
_LIMIT: Final = 5000
_KEEP_ALIVE_S: Final = 15.0


@answers("v2ListEvents")
async def list_events(call: Call) -> Reply:
    found = await asyncio.to_thread(call.service.store.told, _wanted(call))
    shown = [each for each in found if _is_of_infra_env(call, each)]
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


@answers("v2TriggerEvent")
async def trigger_event(call: Call) -> Reply:
    event = call.decode(WireEvent)
    kind, id = next(
        (
            (kind, id)
            for kind, id in (("host", event.host_id), ("cluster", event.cluster_id))
            if id is not None
        ),
        ("", ""),
    )
    if not kind:
        raise BadRequest("the event is of nothing", hint="name its cluster_id or host_id")
    props = msgspec.json.decode(event.props) if event.props else {}
    realm = call.service.engine.realm_of("host" if kind == "host" else "cluster", id)
    subject = realm.hosts[id] if kind == "host" else realm.cluster
    assert subject is not None
    await call.service.change(
        lambda: realm,
        lambda draft: draft.tell(
            subject, event.name or "event", event.message, severity=event.severity, **props
        ),
        call.request_id,
    )
    return empty(201)


@answers("v2GetClusterWhy")
async def get_why(call: Call) -> Reply:
    realm = realm_of(call)
    await call.service.settle(realm.id)
    assert realm.cluster is not None
    api = f"{call.service.around.url}{PREFIX}"
    return reply(why(realm.cluster, realm.hosts, call.service.now(), texts(), api))


@answers("v2GetClusterSteps")
async def get_steps(call: Call) -> Reply:
    realm = realm_of(call)
    await call.service.settle(realm.id)
    assert realm.cluster is not None
    return reply(wizard_steps(realm.cluster, realm.hosts))


@answers("v2Stream")
async def stream(call: Call) -> Reply:
    last = call.headers.get("last-event-id") or call.query.get("after")
    try:
        after = int(last) if last else None
    except ValueError:
        raise BadRequest(f"after: {last!r} is no number of the stream") from None
    scope = call.grant.scope.cluster_id if call.grant is not None else None
    return Reply(200, _stream(call, after, scope), "text/event-stream", (("cache-control", "no-store"),))


async def _stream(call: Call, after: int | None, realm: str | None) -> AsyncIterator[bytes]:
    """Server-sent events: what changed, and a comment now and then so that nobody thinks we are gone."""
    news = call.service.news.follow(after)
    yield b"retry: 1000\n\n"
    pending = asyncio.ensure_future(anext(news))
    try:
        while True:
            done, _ = await asyncio.wait({pending}, timeout=_KEEP_ALIVE_S)
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
    return reply({"status": "ok"})


@answers("ready")
async def ready(call: Call) -> Reply:
    ok = await asyncio.to_thread(call.service.is_ready)
    return reply({"status": "ready" if ok else "the store does not answer"}, 200 if ok else 503)
