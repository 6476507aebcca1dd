# SPDX-License-Identifier: Apache-2.0
"""Every validation answers as the cases say, reads only what it names, and leaves no word unfilled."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import pytest

from muster.model.wire.enums import ClusterValidationId, HostValidationId
from muster.model.wire.inventory import Inventory
from muster.service.parts import PARTS, THERE
from muster.service.state import Cluster, Host, Verdict, VerdictStatus
from muster.service.validations import run
from muster.service.validations.registry import (
    CLUSTER,
    HOST,
    Answer,
    ClusterView,
    HostView,
    Of,
    texts,
    verdict_of,
)
from tests.unit.service.validations import cluster_cases, host_cases
from tests.unit.service.validations.host_cases import Case
from tests.unit.service.validations.making import NOW, cluster_view, host_view

CASES: list[tuple[Of, Case]] = [
    *(("host", case) for case in host_cases.CASES),
    *(("cluster", case) for case in cluster_cases.CASES),
]
NEVER_ASKED = {"release-domain-name-resolved-correctly"}
NOT_SENTENCES = {"title", "why", "fix", "proof"}
SMALL, LARGE = ("etcd", "vSphere"), ("{", "DHCP", "OpenShiftSDN", "OVNKubernetes")


class Watched:
    """A host or a cluster that remembers what was looked at."""

    def __init__(self, of: Host | Cluster, seen: set[str]) -> None:
        self._of, self._seen = of, seen

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._of, name)
        if not isinstance(self._of, Host) or name != "inventory":
            self._seen.add(name)
            return value
        self._seen.add(THERE)
        return None if value is None else WatchedInventory(value, self._seen)


class WatchedInventory:
    """An inventory that remembers which of its parts were looked at."""

    def __init__(self, of: Inventory, seen: set[str]) -> None:
        self._of, self._seen = of, seen

    def __getattr__(self, name: str) -> Any:
        self._seen.add(f"inventory.{name}")
        return getattr(self._of, name)


class WatchedHosts(Mapping[str, Any]):
    """Hosts, of which it is remembered that somebody counted them or went through them."""

    def __init__(self, hosts: Mapping[str, Any], seen: set[str]) -> None:
        self._hosts, self._seen = hosts, seen

    def __getitem__(self, id: str) -> Any:
        return self._hosts[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._hosts)

    def __len__(self) -> int:
        self._seen.add("id")
        return len(self._hosts)


def answer(of: Of, case: Case) -> tuple[Answer, dict[str, set[str]]]:
    """What a validation says in a case, and what it looked at for it."""
    seen: dict[str, set[str]] = {"host": set(), "cluster": set(), "peers": set()}
    if of == "cluster":
        whole = cluster_view(**case.with_)
        hosts: dict[str, Any] = {id: Watched(host, seen["host"]) for id, host in whole.hosts.items()}
        cluster: Any = Watched(whole.cluster, seen["cluster"])
        view = ClusterView(cluster, WatchedHosts(hosts, seen["host"]), NOW)
        return CLUSTER[case.id].check(view), seen
    plain = host_view(**case.with_)
    one: Any = Watched(plain.host, seen["host"])
    hosts = {
        id: one if id == plain.host.id else Watched(each, seen["peers"]) for id, each in plain.hosts.items()
    }
    bound: Any = Watched(plain.cluster, seen["cluster"]) if plain.cluster is not None else None
    watched = HostView(one, bound, WatchedHosts(hosts, seen["peers"]), NOW, plain.agent_image)
    return HOST[case.id].check(watched), seen


@pytest.mark.parametrize(("of", "case"), CASES, ids=str)
def test_a_case(of: Of, case: Case) -> None:
    found, seen = answer(of, case)
    known = HOST if of == "host" else CLUSTER
    verdict = verdict_of(known[case.id], found, of)
    assert (verdict.id, verdict.status) == (case.id, case.status), verdict.message
    assert case.says in verdict.message
    assert "{" not in verdict.message
    assert bool(verdict.message) == (case.status != "suppressed")
    reads = known[case.id].reads
    # With any part an inventory comes and goes.
    there = {THERE} if PARTS & set(reads.host) else set()
    assert seen["host"] <= set(reads.host) | there
    assert seen["cluster"] <= set(reads.cluster)
    assert seen["peers"] <= set(reads.peers)
    if of == "host" and not {"peers", "peers_"} & case.with_.keys():
        # Of peers with which all is well only this is asked; `concerned_peers` relies on it.
        assert seen["peers"] <= run.OF_ALL | {"peers"}


@pytest.mark.parametrize("of", get_args(Of))
def test_every_sentence_is_said_in_some_case(of: Of) -> None:
    said: dict[str, set[str]] = {}
    for each, case in CASES:
        if each == of:
            said.setdefault(case.id, set()).add(answer(of, case)[0].sentence)
    for id, words in texts()[of].items():
        assert words.keys() - NOT_SENTENCES == said[id] - {""}, id


@pytest.mark.parametrize("of", get_args(Of))
def test_every_validation_has_cases_for_success_and_failure(of: Of) -> None:
    known = HOST if of == "host" else CLUSTER
    for id in known:
        statuses = {case.status for each, case in CASES if (each, case.id) == (of, id)}
        assert {"success", "failure"} <= statuses, id


@pytest.mark.parametrize("of", get_args(Of))
def test_every_field_that_is_named_is_read_in_some_case(of: Of) -> None:
    known = HOST if of == "host" else CLUSTER
    read: dict[str, dict[str, set[str]]] = {}
    for each, case in CASES:
        if each == of:
            whole = read.setdefault(case.id, {"host": set(), "cluster": set(), "peers": set()})
            for whose, fields in answer(of, case)[1].items():
                whole[whose] |= fields
    wrong = {}
    for id, validation in known.items():
        reads = validation.reads
        named = {"host": set(reads.host), "cluster": set(reads.cluster), "peers": set(reads.peers)}
        wrong[id] = {
            whose: extra for whose, fields in named.items() if (extra := fields - read[id][whose] - {"id"})
        }
    assert {id: each for id, each in wrong.items() if each} == {}


def test_every_id_of_the_interface_is_there() -> None:
    for ids, known in ((get_args(HostValidationId), HOST), (get_args(ClusterValidationId), CLUSTER)):
        ours = {id for id in ids if not _is_of_an_operator(id)} - NEVER_ASKED
        assert ours == known.keys() - run.OWN
        assert NEVER_ASKED.isdisjoint(known)


def _is_of_an_operator(id: str) -> bool:
    own = {"disk-encryption", "custom-manifests", "platform"}
    stem = id.removesuffix("-gpu-requirements-satisfied").removesuffix("-requirements-satisfied")
    return id.endswith("-requirements-satisfied") and stem not in own


def test_words_are_like_those_of_the_rules() -> None:
    for of, found in texts().items():
        known = HOST if of == "host" else CLUSTER
        assert found.keys() == known.keys()
        for id, words in found.items():
            assert {"title", "why", "fix", "success", "failure"} <= words.keys(), id
            for name, text in words.items():
                assert text.endswith(".") == (name == "why"), (id, name)
                assert text[0].isupper() or text.startswith(SMALL) or name not in ("title", "why"), (id, name)
                assert text[0].islower() or text.startswith(LARGE) or name in ("title", "why"), (id, name)
                if name == "proof":
                    assert "{" not in text.replace("{address}", "").replace("{id}", ""), id
                    continue
                holes = [hole for _, hole, _, _ in string.Formatter().parse(text) if hole is not None]
                assert not holes or name not in NOT_SENTENCES, (id, name)


def test_statuses_are_those_of_the_interface() -> None:
    statuses = {case.status for _, case in CASES}
    assert statuses <= set(get_args(VerdictStatus))


def test_hosts_share_what_is_the_same_for_all() -> None:
    first, second = (run.judge_host(host_view(requested_hostname=name)) for name in ("a", "b"))
    same = [one is two for one, two in zip(first, second, strict=True)]
    assert sum(same) >= len(same) - 2
    assert all(isinstance(verdict, Verdict) for verdict in first)
