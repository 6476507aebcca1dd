# SPDX-License-Identifier: Apache-2.0
"""Asks the validations: all of a host or cluster, or only those that a change concerns.

ids = affected_of_host(host={"inventory"})
verdicts = judge_host(view, ids, before=view.host.verdicts)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from functools import cache
from typing import Any, Final, get_args

from muster.model.wire.enums import ClusterValidationId, HostValidationId
from muster.service.state import Host, Verdict
from muster.service.validations import (
    cluster_hosts,
    cluster_networks,
    cluster_settings,
    cluster_vips,
    host_disks,
    host_hardware,
    host_names,
    host_network,
    host_peers,
    operators,
)
from muster.service.validations.registry import (
    CLUSTER,
    HOST,
    SUPPRESSED,
    ClusterView,
    HostView,
    Of,
    Validation,
    verdict_of,
)

TOPICS: Final = (
    host_hardware,
    host_disks,
    host_names,
    host_network,
    host_peers,
    cluster_networks,
    cluster_vips,
    cluster_hosts,
    cluster_settings,
)
"""Where validations are declared; who imports this module has them all."""
OWN: Final = frozenset(
    {"matches-site-files", "rendezvous-ip-unique", "release-fetched", "no-hosts-left-behind"}
)
"""Validations that the interface does not know; they concern sites that install themselves."""
NOBODY: Final[frozenset[str]] = frozenset()


def validations(of: Of) -> tuple[Validation, ...]:
    """All that are declared, in the order of the interface."""
    return _validations(of, operators.version())


@cache
def _validations(of: Of, version: int) -> tuple[Validation, ...]:  # noqa: ARG001  # what the cache goes by
    known = HOST if of == "host" else CLUSTER
    order = get_args(HostValidationId if of == "host" else ClusterValidationId)
    place = {id: index for index, id in enumerate(order)}
    return tuple(sorted(known.values(), key=lambda each: place.get(each.id, len(order))))


def judge_host(
    view: HostView,
    ids: Collection[str] | None = None,
    before: Iterable[Verdict] = (),
    disabled: Collection[str] = NOBODY,
) -> tuple[Verdict, ...]:
    """What all validations say of a host.

    With ids only those are asked; the others say what they said before. Those that the settings disable are
    not asked, unless the cluster has a list of its own of what it ignores.
    """
    has_list = view.cluster is not None and view.cluster.ignored_host_validations
    off = NOBODY if has_list else disabled
    in_pool = view.cluster is None

    def ask(validation: Validation) -> Verdict:
        if validation.id in off:
            return _disabled(validation.id)
        answer = SUPPRESSED if in_pool and not validation.pool else validation.check(view)
        return verdict_of(validation, answer, "host")

    return _ask(validations("host"), ask, ids, tuple(before))


def judge_cluster(
    view: ClusterView,
    ids: Collection[str] | None = None,
    before: Iterable[Verdict] = (),
    disabled: Collection[str] = NOBODY,
) -> tuple[Verdict, ...]:
    """What all validations say of a cluster; nothing of one that exists and only gets more hosts."""
    if view.cluster.kind != "Cluster":
        return ()
    off = NOBODY if view.cluster.ignored_cluster_validations else disabled

    def ask(validation: Validation) -> Verdict:
        if validation.id in off:
            return _disabled(validation.id)
        return verdict_of(validation, validation.check(view), "cluster")

    return _ask(validations("cluster"), ask, ids, tuple(before))


def _ask(
    asked: tuple[Validation, ...],
    ask: Callable[[Validation], Verdict],
    ids: Collection[str] | None,
    before: tuple[Verdict, ...],
) -> tuple[Verdict, ...]:
    if ids is None:
        return tuple([ask(validation) for validation in asked])
    if len(before) == len(asked):
        # What was said is there for all, most likely in the order of asking.
        return tuple(
            [
                said if said.id == validation.id and said.id not in ids else ask(validation)
                for said, validation in zip(before, asked, strict=True)
            ]
        )
    said = {verdict.id: verdict for verdict in before if verdict.id not in ids}
    return tuple([said.get(validation.id) or ask(validation) for validation in asked])


@cache
def _disabled(id: str) -> Verdict:
    return Verdict(id=id, status="disabled", message="switched off in the settings of the service")


# Which validations a change concerns.

_OVERRIDES: Final = {"host": "ignored_host_validations", "cluster": "ignored_cluster_validations"}
Index = Mapping[str, frozenset[str]]


@cache
def _index(of: Of, version: int) -> tuple[Index, Index, Index]:
    """By field of the host, of the cluster and of peers: the validations that read it."""
    found: tuple[dict[str, set[str]], ...] = ({}, {}, {})
    for validation in _validations(of, version):
        reads = validation.reads
        for fields, by_field in zip((reads.host, reads.cluster, reads.peers), found, strict=True):
            for field in fields:
                by_field.setdefault(field, set()).add(validation.id)
    everything = {validation.id for validation in _validations(of, version)}
    # Whether a host is in a pool, what is disabled, and whether a cluster is judged at all.
    found[1][_OVERRIDES[of]] = everything
    found[0 if of == "host" else 1]["cluster_id" if of == "host" else "kind"] = everything
    host, cluster, peers = ({field: frozenset(ids) for field, ids in each.items()} for each in found)
    return host, cluster, peers


def affected_of_host(
    host: Set[str] = NOBODY, cluster: Set[str] = NOBODY, peers: Set[str] = NOBODY
) -> frozenset[str]:
    """The validations of a host that changes concern: of its own fields, its cluster's, its peers'."""
    of_host, of_cluster, of_peers = _index("host", operators.version())
    return _union(((of_host, host), (of_cluster, cluster), (of_peers, peers)))


def affected_of_cluster(hosts: Set[str] = NOBODY, cluster: Set[str] = NOBODY) -> frozenset[str]:
    """The validations of a cluster that changes concern: of fields of any host, and of its own."""
    of_hosts, of_cluster, _ = _index("cluster", operators.version())
    return _union(((of_hosts, hosts), (of_cluster, cluster)))


def _union(looked_up: Iterable[tuple[Index, Set[str]]]) -> frozenset[str]:
    return frozenset().union(
        *(index[field] for index, fields in looked_up for field in fields if field in index)
    )


OF_ALL: Final = frozenset({"fencing_credentials", "api_vip_connectivity"})
"""What is asked of all peers; everything else only of those with which something is wrong."""


def concerned_peers(
    before: Host | None, after: Host | None, changed: Set[str], hosts: Mapping[str, Host]
) -> frozenset[str]:
    """Whom else a change of one host concerns.

    Most of what a host tells concerns no other host. Its name, its role and what it says of others concern
    only those between whom and it something is wrong, so that a reply costs the same in a large cluster.
    """
    _, _, of_peers = _index("host", operators.version())
    read = changed & of_peers.keys()
    if not read:
        return NOBODY
    if any(
        (getattr(before, name, None) or None) != (getattr(after, name, None) or None)
        for name in read & OF_ALL
    ):
        return frozenset(hosts)
    one, other = (each.peers if each is not None else {} for each in (before, after))
    if read == {"peers"}:
        return frozenset(id for id in one.keys() | other.keys() if one.get(id) != other.get(id))
    known = after or before
    if known is None:
        return NOBODY
    return frozenset(
        one.keys() | other.keys() | {each.id for each in hosts.values() if known.id in each.peers}
    )


def validations_info(verdicts: Iterable[Verdict], of: Of) -> dict[str, list[dict[str, Any]]]:
    """Verdicts as the interface shows them: by category, without those that do not concern this one."""
    known = HOST if of == "host" else CLUSTER
    found: dict[str, list[dict[str, Any]]] = {}
    for verdict in verdicts:
        if verdict.status != "suppressed" and verdict.id in known:
            shown = {"id": verdict.id, "status": verdict.status, "message": verdict.message}
            found.setdefault(known[verdict.id].category, []).append(shown)
    return found
