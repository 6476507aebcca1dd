# SPDX-License-Identifier: Apache-2.0
"""The roles that a caller can have, and what each may do.

A token names its holder and its scope; the table of operations names the roles that may call each operation,
and under which conditions. This module decides from both. It looks nothing up: facts about hosts are passed
in.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

from msgspec import Struct


class Persona(StrEnum):
    """Who is calling."""

    USER = "user"
    """A person, or a program that a person gave their login."""
    HOST = "host"
    """The programs of one host, with the token that the host got when it registered."""
    MEDIUM = "medium"
    """Whatever has booted a medium, with the token that all hosts of the medium share."""
    WATCHER = "watcher"
    """One who only looks: `wait-for`, a dashboard, the metrics collector."""
    IMAGE = "image"
    """One who fetches a medium or a piece of it: a BMC, a boot loader, an image server."""
    ANYONE = "anyone"
    """One who has not said who they are."""


Who: TypeAlias = frozenset[Persona]
"""The personas that may call an operation."""


class Scope(Struct, frozen=True):
    """What a token is for, or what a request is about. What is not named is not restricted."""

    infra_env_id: str | None = None
    cluster_id: str | None = None
    host_id: str | None = None
    """A host is known by its infra-env and its own id together: a machine can appear in two infra-envs."""


class Grant(Struct, frozen=True):
    """What a token that was found good says."""

    persona: Persona
    scope: Scope = Scope()
    expires: float | None = None
    """Seconds since 1970; only tokens of others have none."""
    link: str = ""
    """The one path with its query that the token opens, for an address that is handed on."""
    epoch: int = 0
    """Which key the infra-env had when the token was made; of a host's own: which enrolment it is of."""
    session: str = ""
    """The login that the token came from."""

    @property
    def is_scoped(self) -> bool:
        return self.scope != EVERYTHING

    def sees(self, thing: Scope) -> bool:
        """Whether a thing in a list is for the holder of the token to see."""
        mine = self.scope
        return (
            mine.infra_env_id in (None, thing.infra_env_id)
            and mine.cluster_id in (None, thing.cluster_id)
            and mine.host_id in (None, thing.host_id)
        )


class Cell(Struct, frozen=True):
    """One cell of the access table: a role that may call an operation, and under which conditions."""

    persona: Persona
    why: str = ""
    """What the right is needed for."""
    control_plane: bool = False
    """Only for hosts of the control plane."""
    release: str = ""
    """Only for clusters of releases of this kind; empty: of any."""
    cluster_states: frozenset[str] = frozenset()
    """Only while the cluster is in one of these states; empty: in any."""
    host_states: frozenset[str] = frozenset()
    """Only while the host is in one of these states; empty: in any."""
    keyless: bool = False
    """Only for hosts that registered without a key, and only where the service admits such hosts."""
    unknown: bool = False
    """For hosts that the service does not know, and for no others."""

    @property
    def conditions(self) -> str:
        """The conditions in words; empty when there are none."""
        words = []
        if self.control_plane:
            words.append("control plane")
        if self.release:
            words.append(f"release {self.release}")
        if self.cluster_states:
            words.append(f"cluster {' or '.join(sorted(self.cluster_states))}")
        if self.host_states:
            words.append(f"host {' or '.join(sorted(self.host_states))}")
        if self.keyless:
            words.append("host without a key, where allowed")
        if self.unknown:
            words.append("host not known")
        return "; ".join(words)


class Standing(Struct, frozen=True):
    """What the service knows about a host, as far as its rights depend on it."""

    status: str
    is_control_plane: bool = False
    has_key: bool = False
    """Whether the host registered with a key of its own."""


class Rule(Protocol):
    """What an operation asks of its callers; a row of the table of operations is one."""

    @property
    def who(self) -> Who: ...

    @property
    def cells(self) -> frozenset[Cell]: ...

    @property
    def narrows(self) -> bool:
        """Whether its answer is cut down to what the caller's token is for."""


class Ties(Protocol):
    """What has to be known about hosts and infra-envs at this moment."""

    def cluster_of(self, infra_env_id: str, host_id: str) -> str | None:
        """The cluster that a host belongs to."""

    def clusters_of(self, infra_env_id: str) -> Collection[str]:
        """The clusters that an infra-env is for, or that hosts of it belong to."""

    def standing_of(self, infra_env_id: str | None, host_id: str) -> Standing | None:
        """A host, in any infra-env if none is named; None when the service does not know it."""

    def status_of(self, cluster_id: str) -> str:
        """The state of a cluster; empty when there is none."""

    def release_of(self, cluster_id: str) -> str:
        """The kind of the release of a cluster; empty when there is no such cluster."""

    @property
    def admits_keyless(self) -> bool:
        """Whether hosts may register without a key: agents other than Muster's have none."""

    def epoch_of(self, infra_env_id: str) -> int:
        """How often the signing key of an infra-env has been renewed."""

    def enrolment_of(self, infra_env_id: str, host_id: str) -> int:
        """How often a host has registered with the token of its medium."""


class Verdict(Struct, frozen=True):
    """Whether a request is let in."""

    status: int = 0
    """0 when it is; 401 when the caller should say who they are, 403 when that would not help."""
    reason: str = ""
    narrow: bool = False
    """Whether the answer has to be cut down with `Grant.sees`."""

    @property
    def is_allowed(self) -> bool:
        return not self.status


EVERYTHING: Final = Scope()
ALLOWED: Final = Verdict()


def may(grant: Grant | None, rule: Rule, asked: Scope, ties: Ties, link: str = "") -> Verdict:
    """Whether the holder of a token may call an operation on what the request names.

    `link` is the path of the request with its query, without the token.
    """
    if Persona.ANYONE in rule.who:
        return ALLOWED
    if grant is None:
        return Verdict(401, "this operation needs a token or a login")
    if grant.persona not in rule.who:
        return _no(f"a token of persona {grant.persona} does not open this operation")
    if grant.link and grant.link != link:
        return _no("this address was made for something else")
    if grant.persona is Persona.IMAGE and (refusal := _check_image(grant, ties)):
        return _no(refusal)
    if grant.persona is Persona.HOST and (refusal := _check_enrolment(grant, ties)):
        return _no(refusal)
    if grant.is_scoped and (refusal := _check_scope(grant.scope, asked, ties, rule)):
        return _no(refusal)
    cells = [each for each in rule.cells if each.persona is grant.persona]
    refusals = [_check_cell(each, grant.scope, asked, ties) for each in cells]
    if all(refusals):
        return _no(refusals[0])
    return Verdict(narrow=grant.is_scoped and rule.narrows)


def _no(reason: str) -> Verdict:
    return Verdict(403, reason)


def _check_image(grant: Grant, ties: Ties) -> str:
    if grant.scope.infra_env_id is None:
        return "a token for images has to name its infra-env"
    if not grant.link:
        return "a token for images opens one file, and has to name it"
    if grant.epoch != ties.epoch_of(grant.scope.infra_env_id):
        return "this address was made worthless; ask for a new one"
    return ""


def _check_enrolment(grant: Grant, ties: Ties) -> str:
    """A host's token ends when the host registers again without it."""
    mine = grant.scope
    if not (mine.infra_env_id and mine.host_id):
        return "the token of a host has to name the host and its infra-env"
    is_last = grant.epoch == ties.enrolment_of(mine.infra_env_id, mine.host_id)
    return "" if is_last else "this host has registered again since; its newer token has to be used"


def _check_cell(cell: Cell, mine: Scope, asked: Scope, ties: Ties) -> str:
    """Why the conditions of a cell do not hold; empty when they do."""
    if cell.persona is Persona.HOST:
        assert mine.host_id is not None
        return _check_host(cell, ties.standing_of(mine.infra_env_id, mine.host_id), asked, ties)
    if not cell.keyless and not cell.unknown:
        return ""
    if asked.host_id is None:
        return "the request has to name its host"
    return _check_medium(cell, ties.standing_of(asked.infra_env_id or mine.infra_env_id, asked.host_id), ties)


def _check_host(cell: Cell, host: Standing | None, asked: Scope, ties: Ties) -> str:
    if host is None:
        return "this host is not known any more; it has to register again"
    if cell.control_plane and not host.is_control_plane:
        return "only hosts of the control plane may do this"
    if cell.release and (not asked.cluster_id or ties.release_of(asked.cluster_id) != cell.release):
        return f"this is possible only for clusters of a release of kind {cell.release}"
    if cell.host_states and host.status not in cell.host_states:
        return f"the host is {host.status}; this is possible only in: {', '.join(sorted(cell.host_states))}"
    status = ties.status_of(asked.cluster_id) if asked.cluster_id else ""
    if cell.cluster_states and status not in cell.cluster_states:
        return (
            f"the cluster is {status or 'not known'}; "
            f"this is possible only in: {', '.join(sorted(cell.cluster_states))}"
        )
    return ""


def _check_medium(cell: Cell, host: Standing | None, ties: Ties) -> str:
    """The token of a medium registers hosts; a host that has registered uses its own."""
    if cell.unknown:
        return "" if host is None else "this host has a token of its own, which has to be used"
    if host is None:
        return "this medium has no such host"
    if host.has_key:
        return "this host has a token of its own, which has to be used"
    return "" if ties.admits_keyless else "the service admits only hosts with a key"


def _check_scope(mine: Scope, asked: Scope, ties: Ties, rule: Rule) -> str:
    """Why a token does not reach what a request names; empty when it does."""
    if asked == EVERYTHING:
        return "" if rule.narrows else "this token is for one thing, and this operation is about all of them"
    if mine.infra_env_id and asked.infra_env_id not in (None, mine.infra_env_id):
        return "this token is for another infra-env"
    if mine.host_id and asked.host_id not in (None, mine.host_id):
        return "this token is for another host"
    if mine.cluster_id:
        return _check_in_cluster(mine.cluster_id, asked, ties, rule)
    if asked.cluster_id is None or asked.cluster_id in _clusters_of(mine, ties):
        return ""
    return "this token is for a host or infra-env that is not in this cluster"


def _clusters_of(mine: Scope, ties: Ties) -> Collection[str | None]:
    if mine.infra_env_id is None:
        return ()
    if mine.host_id is None:
        return ties.clusters_of(mine.infra_env_id)
    return (ties.cluster_of(mine.infra_env_id, mine.host_id),)


def _check_in_cluster(cluster_id: str, asked: Scope, ties: Ties, rule: Rule) -> str:
    """A token for a cluster reaches the cluster itself and the hosts in it, but no infra-env as a whole."""
    wrong = "this token is for another cluster"
    if asked.cluster_id not in (None, cluster_id):
        return wrong
    if asked.infra_env_id and asked.host_id:
        return "" if ties.cluster_of(asked.infra_env_id, asked.host_id) == cluster_id else wrong
    if asked.cluster_id:
        return ""
    is_near = asked.infra_env_id is None or cluster_id in ties.clusters_of(asked.infra_env_id)
    return "" if is_near and rule.narrows else wrong
