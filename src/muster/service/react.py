# SPDX-License-Identifier: Apache-2.0
"""What follows from a decision: derived values, verdicts, states, until nothing changes any more.

Only what depends on what changed is looked at, so that a reply of one host costs the same in a large cluster.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Set
from typing import Final

import msgspec

from muster.service.decisions.enrolment import expire
from muster.service.derive.run import derive
from muster.service.parts import PARTS, THERE
from muster.service.realm import Draft, Key
from muster.service.state import Cluster, Host, Kind, Verdict
from muster.service.states.fitness import ClusterFitness, HostFitness
from muster.service.states.host import fell_silent
from muster.service.states.reacting import react_states
from muster.service.states.reacting import time_passed as decide_time_passed
from muster.service.states.words import name_of
from muster.service.validations import fitness
from muster.service.validations.host_hardware import has_cpu_cores_for_role, has_memory_for_role
from muster.service.validations.registry import ClusterView, HostView
from muster.service.validations.run import (
    affected_of_cluster,
    affected_of_host,
    concerned_peers,
    judge_cluster,
    judge_host,
)

_ROUNDS: Final = 16
"""Many more than anything takes; who needs them all goes in circles."""
_NOBODY: Final[frozenset[str]] = frozenset()
_UNDER_WAY: Final = frozenset(
    {"installing", "finalizing", "installed", "installing-pending-user-action", "error", "cancelled"}
)
"""States of a cluster in which nobody asks any more whether it can be installed."""
_APART: Final = PARTS - {THERE, "inventory.hostname", "inventory.interfaces"} | {
    *("inventory", "asked", "reached", "peers", "groups", "networks", "collisions", "twins")
}
"""Of a host: what no state depends on, and no text about it, unless it changes a verdict."""


def react(draft: Draft, disabled: frozenset[str] = _NOBODY) -> None:
    """Do what follows from the changes of a draft; some validations may be switched off."""
    for _ in range(_ROUNDS):
        changes = draft.take_changes()
        if not changes:
            return
        derive(draft, changes, lambda host, role: _fits(draft, host, role))
        _merge(changes, draft.take_changes())
        _judge(draft, changes, disabled)
        _merge(changes, draft.take_changes())
        if not draft.is_gone and _concern_states(changes):
            react_states(
                draft,
                changes,
                lambda host: _fitness(draft, host, disabled),
                lambda _: _cluster_fitness(draft),
            )
            _name_installations(draft, [*changes, *draft.changes])
    names = sorted({field for fields in draft.changes.values() for field in fields})
    raise AssertionError(f"what follows from a change never ends: {', '.join(names)}")


def time_passed(draft: Draft, kind: Kind, id: str, silent: bool, disabled: frozenset[str] = _NOBODY) -> None:
    """A deadline has come, or a host has been silent for too long."""
    if kind == "host":
        expire(draft, draft.hosts[id])
    if kind == "host" and silent:
        fell_silent(draft, draft.hosts[id])
    decide_time_passed(
        draft, kind, id, lambda host: _fitness(draft, host, disabled), lambda _: _cluster_fitness(draft)
    )


def _merge(changes: dict[Key, set[str]], more: Mapping[Key, set[str]]) -> None:
    for key, fields in more.items():
        changes.setdefault(key, set()).update(fields)


def _concern_states(changes: Mapping[Key, Set[str]]) -> bool:
    """Whether any state may depend on these changes."""
    return any(kind != "host" or not fields <= _APART for (kind, _), fields in changes.items())


def _cluster_of(draft: Draft) -> Cluster | None:
    return None if draft.is_pool else draft.cluster


def _fits(draft: Draft, host: Host, role: str) -> bool:
    """Whether a machine is enough for a role."""
    candidate = msgspec.structs.replace(host, role=role)
    view = HostView(candidate, _cluster_of(draft), draft.hosts, draft.now)
    return all(check(view).status == "success" for check in (has_cpu_cores_for_role, has_memory_for_role))


def _name_installations(draft: Draft, changed: Iterable[Key]) -> None:
    """A host is told to install once: the step has its name before it is handed out, and keeps it."""
    for kind, id in changed:
        host = draft.hosts.get(id) if kind == "host" else None
        if host is None or host.status != "installing" or host.install_step or host.disk_unsure:
            continue
        seed = f"{host.id} {host.status_updated_at.isoformat()}".encode()
        digest = hashlib.blake2b(seed, digest_size=4).hexdigest()
        draft.change(host, install_step=f"install-{digest}")


# Verdicts


def _judge(draft: Draft, changes: Mapping[Key, Set[str]], disabled: frozenset[str]) -> None:
    asked: Set[str] = frozenset().union(
        *(fields for (kind, _), fields in changes.items() if kind == "cluster")
    )
    hosts = {id: fields for (kind, id), fields in changes.items() if kind == "host"}
    for id, ids in _questions(draft, hosts, asked).items():
        host = draft.hosts.get(id)
        if host is not None:
            _judge_host(draft, host, ids, disabled)
    if draft.is_pool or draft.is_gone:
        return
    if draft.cluster.status in _UNDER_WAY:
        return
    fields = frozenset().union(*hosts.values(), {"verdicts"} if hosts else _NOBODY)
    ids = affected_of_cluster(fields, asked)
    if ids or "status" in asked:
        _judge_cluster(draft, None if "status" in asked else ids, disabled)


def _questions(draft: Draft, hosts: Mapping[str, Set[str]], asked: Set[str]) -> dict[str, frozenset[str]]:
    """For each host the validations that are to be asked again."""
    found: dict[str, frozenset[str]] = {}

    def ask(id: str, ids: frozenset[str]) -> None:
        if ids:
            found[id] = found.get(id, _NOBODY) | ids

    if ids := affected_of_host(cluster=asked):
        for id in draft.hosts:
            ask(id, ids)
    for id, fields in hosts.items():
        ask(id, affected_of_host(host=fields))
        for peer in _peers(draft, id, fields):
            if peer != id:
                ask(peer, affected_of_host(peers=fields))
    return found


def _peers(draft: Draft, id: str, fields: Set[str]) -> Set[str]:
    return concerned_peers(draft.realm.hosts.get(id), draft.hosts.get(id), fields, draft.hosts)


def _judge_host(draft: Draft, host: Host, ids: frozenset[str], disabled: frozenset[str]) -> None:
    view = HostView(host, _cluster_of(draft), draft.hosts, draft.now)
    verdicts = judge_host(view, ids if host.verdicts else None, host.verdicts, disabled)
    if verdicts == host.verdicts:
        return
    draft.change(host, verdicts=verdicts)
    _tell_turns(draft, host, f"Host {name_of(host)}", verdicts)


def _judge_cluster(draft: Draft, ids: frozenset[str] | None, disabled: frozenset[str]) -> None:
    cluster = draft.cluster
    view = ClusterView(cluster, draft.hosts, draft.now)
    verdicts = judge_cluster(view, ids if cluster.verdicts else None, cluster.verdicts, disabled)
    if verdicts == cluster.verdicts:
        return
    draft.change(cluster, verdicts=verdicts)
    _tell_turns(draft, cluster, f"Cluster {cluster.name}", verdicts)


def _tell_turns(draft: Draft, subject: Host | Cluster, name: str, verdicts: tuple[Verdict, ...]) -> None:
    kind = "host" if isinstance(subject, Host) else "cluster"
    for before, now in _turned(subject.verdicts, verdicts):
        failed = now.status == "failure"
        what = f"fails now: {now.message}" if failed else "is fixed"
        draft.tell(
            subject,
            f"{kind}_validation_{'failed' if failed else 'fixed'}",
            f"{name}: validation {now.id} {what}",
            severity="warning" if failed else "info",
            validation_id=now.id,
            validation_message=now.message if failed else before.message,
        )


def _turned(before: tuple[Verdict, ...], after: tuple[Verdict, ...]) -> list[tuple[Verdict, Verdict]]:
    """The verdicts that went from good to bad, or back."""
    known = {each.id: each for each in before}
    turns = {("success", "failure"), ("failure", "success")}
    return [
        (known[each.id], each)
        for each in after
        if each.id in known and (known[each.id].status, each.status) in turns
    ]


# What verdicts mean for states


def _fitness(draft: Draft, host: Host, disabled: frozenset[str]) -> HostFitness:
    ignored = () if draft.is_pool else draft.cluster.ignored_host_validations
    if draft.is_pool:
        blocking = fitness.blocking(fitness.members("pool"), host.verdicts)
        fit = not blocking
        return HostFitness(fit, True, fit, True, tuple(each.id for each in blocking))
    parts = {
        group: fitness.blocking(fitness.members(group), host.verdicts, ignored)
        for group in ("min_hardware", "required_input", "sufficient", "prepare")
    }
    failing = tuple(dict.fromkeys(each.id for part in parts.values() for each in part))
    ready = fitness.is_prepared(host, ignored or disabled)
    return HostFitness(
        not parts["min_hardware"], not parts["required_input"], not parts["sufficient"], ready, failing
    )


def _cluster_fitness(draft: Draft) -> ClusterFitness:
    cluster = draft.cluster
    ignored = cluster.ignored_cluster_validations
    inputs = fitness.blocking(
        fitness.cluster_members("required_input", vips=not cluster.vip_dhcp_allocation),
        cluster.verdicts,
        ignored,
        "cluster",
    )
    rest = fitness.blocking(fitness.cluster_members("sufficient"), cluster.verdicts, ignored, "cluster")
    return ClusterFitness(not inputs, not rest, tuple(each.id for each in (*inputs, *rest)))
