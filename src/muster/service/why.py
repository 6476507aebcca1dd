# SPDX-License-Identifier: Apache-2.0
"""What a cluster is waiting for: since when, until when, who can mend it, and what happens if nobody does.

Hosts that wait for the same are told of together, so that the answer stays short however many there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from muster.model.wire.struct import Wire
from muster.service.decided import Decided, decided
from muster.service.state import Cluster, Host, Verdict
from muster.service.states.waits import Wait, Who, waits
from muster.service.states.words import Words, cluster_words, host_words, name_of
from muster.service.validations import fitness

Texts: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Of hosts and of clusters, by validation: why it matters, and what to do."""
API = "$MUSTER_URL/api/assisted-install"
_UNFIT = frozenset({"insufficient", "pending-for-input", "insufficient-unbound"})


class WaitingHost(Wire, frozen=True, kw_only=True):
    """One of the hosts that wait for something."""

    id: str
    name: str
    message: str
    since: datetime
    until: datetime | None = None


class Reason(Wire, frozen=True, kw_only=True):
    """One thing that is waited for."""

    id: str
    """A validation, or a kind of waiting."""
    of: Literal["cluster", "host"]
    message: str
    """What is waited for."""
    since: datetime
    until: datetime | None = None
    overdue: bool = False
    who: Who
    """Who can do something about it."""
    why: str = ""
    fix: str
    proof: str
    """A command that shows whether it is so."""
    ignored: str
    """What happens when nobody does anything."""
    hosts: tuple[WaitingHost, ...] = ()


class Why(Wire, frozen=True, kw_only=True):
    """What a cluster is waiting for; without reasons it waits for nothing."""

    status: str
    status_info: str
    summary: str
    reasons: tuple[Reason, ...] = ()
    decided: tuple[Decided, ...] = ()
    """What was decided because nobody said otherwise."""


def why(cluster: Cluster, hosts: Mapping[str, Host], now: datetime, texts: Texts, api: str = API) -> Why:
    """What a cluster is waiting for: what it needs itself first, then what its hosts need."""
    grouped: dict[str, Reason] = {}
    for reason in (*_of_cluster(cluster, texts, api), *_of_hosts(cluster, hosts, texts, api)):
        seen = grouped.get(f"{reason.of} {reason.id}")
        grouped[f"{reason.of} {reason.id}"] = reason if seen is None else _join(seen, reason)
    reasons = tuple(_judge_time(each, now) for each in grouped.values())
    return Why(
        status=cluster.status,
        status_info=cluster.status_info,
        summary=_summary(reasons),
        reasons=reasons,
        decided=decided(cluster, hosts.values()),
    )


def _summary(reasons: tuple[Reason, ...]) -> str:
    if not reasons:
        return "The cluster waits for nothing"
    first, more = reasons[0], len(reasons) - 1
    rest = f", and {more} more" if more else ""
    return f"Waiting for the {first.who}: {first.message}{rest}"


def _judge_time(reason: Reason, now: datetime) -> Reason:
    late = reason.until is not None and reason.until <= now
    return replace(reason, overdue=late)


def _join(one: Reason, other: Reason) -> Reason:
    """The same of several hosts: since the first, and until the first."""
    ends = [each for each in (one.until, other.until) if each is not None]
    return replace(
        one,
        since=min(one.since, other.since),
        until=min(ends) if ends else None,
        hosts=(*one.hosts, *other.hosts),
    )


def _of_cluster(cluster: Cluster, texts: Texts, api: str) -> Iterator[Reason]:
    waiting = cluster.waiting
    if waiting is None:
        return
    wait, words = waits()["cluster"][waiting.kind], _with(cluster_words(cluster), api)
    blocking = _cluster_blocking(cluster) if cluster.status in _UNFIT else ()
    for verdict in blocking:
        entry = texts["cluster"].get(verdict.id, {})
        yield Reason(
            id=verdict.id,
            of="cluster",
            message=verdict.message or verdict.id,
            since=waiting.since,
            until=waiting.until,
            who="user",
            why=str(entry.get("why", "")),
            fix=str(entry.get("fix", waiting.action)),
            proof=str(entry.get("proof", wait.proof)).format_map(words),
            ignored=wait.ignored,
        )
    if not blocking:
        yield Reason(
            id=waiting.kind,
            of="cluster",
            message=waiting.reason,
            since=waiting.since,
            until=waiting.until,
            who=wait.who,
            fix=waiting.action,
            proof=wait.proof.format_map(words),
            ignored=wait.ignored,
        )


def _cluster_blocking(cluster: Cluster) -> tuple[Verdict, ...]:
    """What stands in the way of a cluster; that hosts are not ready is said by the hosts."""
    ids = fitness.cluster_members("required_input", vips=not cluster.vip_dhcp_allocation)
    found = fitness.blocking(
        ids | fitness.cluster_members("sufficient"),
        cluster.verdicts,
        cluster.ignored_cluster_validations,
        "cluster",
    )
    return tuple(each for each in found if each.id != "all-hosts-are-ready-to-install")


def _of_hosts(cluster: Cluster, hosts: Mapping[str, Host], texts: Texts, api: str) -> Iterator[Reason]:
    for host in hosts.values():
        waiting = host.waiting
        if waiting is None:
            continue
        wait, words = waits()["host"][waiting.kind], _with(host_words(host, cluster), api)
        blocking = _host_blocking(host, cluster) if host.status in _UNFIT else ()
        for verdict in blocking:
            yield _of_verdict(host, verdict, texts["host"].get(verdict.id, {}), wait, words)
        if not blocking:
            kind = host.progress.current_stage if waiting.kind == "stage" else waiting.kind
            yield Reason(
                id=kind or waiting.kind,
                of="host",
                message=waiting.reason,
                since=waiting.since,
                until=waiting.until,
                who=wait.who,
                fix=waiting.action,
                proof=wait.proof.format_map(words),
                ignored=wait.ignored,
                hosts=(_waiting_host(host, waiting.reason),),
            )


def _host_blocking(host: Host, cluster: Cluster) -> tuple[Verdict, ...]:
    ids = fitness.members("min_hardware") | fitness.members("required_input") | fitness.members("sufficient")
    return fitness.blocking(ids, host.verdicts, cluster.ignored_host_validations)


def _of_verdict(host: Host, verdict: Verdict, entry: Mapping[str, Any], wait: Wait, words: Words) -> Reason:
    assert host.waiting is not None
    message = verdict.message or verdict.id
    return Reason(
        id=verdict.id,
        of="host",
        message=message,
        since=host.waiting.since,
        until=host.waiting.until,
        who="host" if verdict.status == "pending" else wait.who,
        why=str(entry.get("why", "")),
        fix=str(entry.get("fix", host.waiting.action)),
        proof=str(entry.get("proof", wait.proof)).format_map(words),
        ignored=wait.ignored,
        hosts=(_waiting_host(host, message),),
    )


def _waiting_host(host: Host, message: str) -> WaitingHost:
    assert host.waiting is not None
    return WaitingHost(
        id=host.id,
        name=name_of(host),
        message=message,
        since=host.waiting.since,
        until=host.waiting.until,
    )


def _with(words: Words, api: str) -> Words:
    words["api"] = api
    return words
