# SPDX-License-Identifier: Apache-2.0
"""What one who follows an installation sees at a moment: of the service, and of the cluster's own API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

import msgspec

from muster.frozen import dataclass
from muster.model.wire.cluster import Cluster
from muster.model.wire.host import Host
from muster.model.wire.struct import Wire

REBOOTED: Final = frozenset({"Rebooting", "Waiting for ignition", "Configuring", "Joined", "Done"})
"""Stages of a host that was told to leave the medium."""
OURS: Final = frozenset({"user", "network"})
"""Who cannot be left to mend something by themselves."""
_STOPS: Final = frozenset({"matches-site-files", "rendezvous-ip-unique", "no-hosts-left-behind"})
"""What stays as it is until somebody does something, however many hosts are yet to come."""
_FAILING: Final = frozenset({"failure", "error"})


class Trouble(StrEnum):
    """Why one does not get what one asks for."""

    SILENT = "silent"
    """Nobody answers."""
    CERTIFICATE = "certificate"
    """Who answers cannot prove to be who is looked for."""
    REFUSED = "refused"
    """Who answers does not believe us."""
    STRANGE = "strange"
    """The answer is not one that is understood."""


class WaitingHost(Wire, frozen=True, kw_only=True):
    """One of the hosts that wait for something."""

    id: str
    name: str = ""
    message: str = ""


class Reason(Wire, frozen=True, kw_only=True):
    """One thing that the cluster waits for, in the words of the service."""

    id: str
    of: Literal["cluster", "host"]
    message: str
    since: datetime
    until: datetime | None = None
    overdue: bool = False
    who: str = ""
    why: str = ""
    fix: str = ""
    proof: str = ""
    """A command that shows whether it is so."""
    hosts: tuple[WaitingHost, ...] = ()


class Why(Wire, frozen=True, kw_only=True):
    """What a cluster waits for."""

    summary: str = ""
    reasons: tuple[Reason, ...] = ()


class Verdict(Wire, frozen=True, kw_only=True):
    """What a validation says."""

    id: str
    status: str
    message: str = ""


@dataclass(frozen=True)
class ServiceSight:
    """What the service shows; without trouble and without a cluster, it has none yet."""

    trouble: Trouble | None = None
    words: str = ""
    """What the trouble is."""
    at: datetime | None = None
    """The time there: durations are counted by the clock that the beginnings were noted by."""
    here: datetime | None = None
    """The time here, at the same moment."""
    cluster: Cluster | None = None
    why: Why | None = None


@dataclass(frozen=True)
class Node:
    """A node, as the cluster itself knows it."""

    name: str
    is_ready: bool


@dataclass(frozen=True)
class KubernetesSight:
    """What the Kubernetes API shows."""

    is_ready: bool = False
    trouble: Trouble | None = None
    words: str = ""
    """What keeps it from being ready."""
    nodes: tuple[Node, ...] | None = None
    is_set_up: bool = False
    """Whether the cluster says of itself that it has all it was to get; asked when nodes are ready."""
    is_resolved: bool = True
    """Whether the name of its server is known on this machine."""


@dataclass(frozen=True)
class Snapshot:
    """Everything at a moment; None for what was not looked at yet."""

    service: ServiceSight | None = None
    kubernetes: KubernetesSight | None = None

    @property
    def cluster(self) -> Cluster | None:
        """The cluster, if the service shows it."""
        return self.service.cluster if self.service is not None else None

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Its hosts."""
        return (self.cluster.hosts or ()) if self.cluster is not None else ()


def name_of(host: Host) -> str:
    """What people call a host."""
    return host.requested_hostname or host.id


def failing(validations_info: str | None) -> Iterator[Verdict]:
    """The validations that fail, of a cluster or a host."""
    for verdict in verdicts(validations_info):
        if verdict.status in _FAILING:
            yield verdict


def verdicts(validations_info: str | None) -> Iterator[Verdict]:
    """What all validations say; nothing when that cannot be read."""
    try:
        found = msgspec.json.decode(validations_info or "{}", type=dict[str, tuple[Verdict, ...]])
    except msgspec.DecodeError:
        return
    for group in found.values():
        yield from group


def pressing(snapshot: Snapshot) -> tuple[Reason, ...]:
    """What the cluster waits for: what somebody has to do first, then what hosts do, then all else."""
    why = snapshot.service.why if snapshot.service is not None else None
    if why is None or snapshot.cluster is None:
        return ()
    infos = (snapshot.cluster.validations_info, *(host.validations_info for host in snapshot.hosts))
    pending = {each.id for info in infos for each in verdicts(info) if each.status == "pending"}
    pending -= {each.id for info in infos for each in failing(info)}
    # What is not judged yet is not for people to mend.
    reasons = (
        msgspec.structs.replace(each, who="host") if each.id in pending else each for each in why.reasons
    )
    return tuple(sorted(reasons, key=lambda each: (each.who not in OURS, each.of != "host")))


def stopping(snapshot: Snapshot) -> tuple[Reason, ...]:
    """Those of the reasons that no waiting helps against."""
    return tuple(each for each in pressing(snapshot) if each.id in _STOPS and each.who in OURS)


def missing_nodes(nodes: Iterable[Node], expected: Iterable[str]) -> tuple[str, ...]:
    """Those of the expected nodes that are not ready; a node may have its whole name."""
    ready = {name for node in nodes if node.is_ready for name in (node.name, node.name.partition(".")[0])}
    return tuple(name for name in expected if name not in ready)
