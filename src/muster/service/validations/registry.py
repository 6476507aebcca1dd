# SPDX-License-Identifier: Apache-2.0
"""How a validation is declared, what it sees, and how it answers.

    @on_host("has-min-cpu-cores", "hardware", Reads({"inventory"}, {"openshift_version"}), pool=True)
    def has_min_cpu_cores(see: HostView) -> Answer:
        ...
        return failed(count=2, wanted=4)

The fields that it names are all that it may look at: it is asked again when one of them changes, and only
then. The sentences are in texts.toml, under its id: one message for each answer, why it matters, and what to
do.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Set
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any, Final, Literal, TypeAlias

import msgspec

from muster.frozen import dataclass
from muster.service.state import Cluster, Host, Verdict, VerdictStatus

Of: TypeAlias = Literal["host", "cluster"]
Category: TypeAlias = Literal["network", "hardware", "operators", "hosts-data", "configuration"]


class HostView(msgspec.Struct, frozen=True):
    """What a validation of a host sees. Without a cluster the host waits in a pool."""

    host: Host
    cluster: Cluster | None
    hosts: Mapping[str, Host]
    now: datetime
    agent_image: str = ""
    """The agent that hosts are to run; empty when any will do."""


class ClusterView(msgspec.Struct, frozen=True):
    """What a validation of a cluster sees."""

    cluster: Cluster
    hosts: Mapping[str, Host]
    now: datetime


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What a validation found: its status, which of its sentences, and what goes into that."""

    status: VerdictStatus
    sentence: str
    values: dict[str, Any]


def passed(sentence: str = "success", **values: Any) -> Answer:
    """It is fine."""
    return Answer("success", sentence, values)


def failed(sentence: str = "failure", **values: Any) -> Answer:
    """It is not."""
    return Answer("failure", sentence, values)


def pending(sentence: str = "pending", **values: Any) -> Answer:
    """What would answer it is not known yet."""
    return Answer("pending", sentence, values)


def broken(sentence: str = "error", **values: Any) -> Answer:
    """What was told cannot be made sense of."""
    return Answer("error", sentence, values)


SUPPRESSED: Final = Answer("suppressed", "", {})
"""It does not concern this one: passed, and not shown."""

HostCheck: TypeAlias = Callable[[HostView], Answer]
ClusterCheck: TypeAlias = Callable[[ClusterView], Answer]


@dataclass(frozen=True)
class Reads:
    """The fields that a validation looks at."""

    host: Set[str] = frozenset()
    """Of the host itself; of any host, for a question about a cluster."""
    cluster: Set[str] = frozenset()
    peers: Set[str] = frozenset()
    """Of the other hosts."""


@dataclass(frozen=True)
class Validation:
    """One question about a host or a cluster."""

    id: str
    category: Category
    check: Callable[[Any], Answer]
    reads: Reads
    pool: bool
    """Whether it is asked of hosts that wait for a cluster."""
    ignorable: bool
    advisory: bool
    """Whether an installation may start although it fails."""


HOST: Final[dict[str, Validation]] = {}
CLUSTER: Final[dict[str, Validation]] = {}


def on_host(id: str, category: Category, reads: Reads, **marks: bool) -> Callable[[HostCheck], HostCheck]:
    """Declare a validation of hosts. Marks: pool, advisory, must (it cannot be ignored)."""

    def declare(check: HostCheck) -> HostCheck:
        HOST[id] = _validation(id, category, check, reads, marks)
        return check

    return declare


def on_cluster(
    id: str, category: Category, reads: Reads, **marks: bool
) -> Callable[[ClusterCheck], ClusterCheck]:
    """Declare a validation of clusters. Marks: advisory, must."""

    def declare(check: ClusterCheck) -> ClusterCheck:
        CLUSTER[id] = _validation(id, category, check, reads, marks)
        return check

    return declare


def _validation(
    id: str, category: Category, check: Callable[[Any], Answer], reads: Reads, marks: Mapping[str, bool]
) -> Validation:
    pool, must, advisory = (marks.get(mark, False) for mark in ("pool", "must", "advisory"))
    return Validation(id, category, check, reads, pool, not must, advisory)


@cache
def texts() -> Mapping[str, Mapping[str, Any]]:
    """The sentences of each validation: of hosts under `host`, of clusters under `cluster`."""
    path = resources.files("muster.service.validations").joinpath("texts.toml")
    return tomllib.loads(path.read_text("utf-8"))


def verdict_of(validation: Validation, answer: Answer, of: Of) -> Verdict:
    """An answer in words."""
    if not answer.values:
        return _plain(of, validation.id, answer.status, answer.sentence)
    sentence: str = texts()[of][validation.id][answer.sentence]
    return Verdict(id=validation.id, status=answer.status, message=sentence.format_map(answer.values))


@cache
def _plain(of: Of, id: str, status: VerdictStatus, sentence: str) -> Verdict:
    """A verdict that is the same for all; hosts by the hundred share it."""
    if status == "suppressed":
        return Verdict(id=id, status=status)
    return Verdict(id=id, status=status, message=texts()[of][id][sentence].format())
