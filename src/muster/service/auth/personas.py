# SPDX-License-Identifier: Apache-2.0
"""The parts that a caller can play, and what each may do.

A token says who its holder is and what it is for; the table of operations says whom each of them is for. Here
is what follows from both. Nothing is looked up: what has to be known about hosts is passed in.
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
    AGENT = "agent"
    """What runs on a host: agent, installer, controller."""
    WATCHER = "watcher"
    """One who only looks: `wait-for`, a dashboard, the metrics collector."""
    IMAGE = "image"
    """One who fetches a medium or a piece of it: a BMC, a boot loader, an image server."""
    ANYONE = "anyone"
    """One who has not said who they are."""


Who: TypeAlias = frozenset[Persona]
"""The personas that may call an operation."""

ANYONE: Final[Who] = frozenset({Persona.ANYONE})
"""Operations that nobody has to say their name for."""


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


class Rule(Protocol):
    """What an operation asks of its callers; a row of the table of operations is one."""

    @property
    def who(self) -> Who: ...

    @property
    def narrows(self) -> bool:
        """Whether its answer is cut down to what the caller's token is for."""


class Ties(Protocol):
    """What has to be known about hosts and infra-envs at this moment."""

    def cluster_of(self, infra_env_id: str, host_id: str) -> str | None:
        """The cluster that a host belongs to."""

    def clusters_of(self, infra_env_id: str) -> Collection[str]:
        """The clusters that an infra-env is for, or that hosts of it belong to."""

    def has_own_token(self, infra_env_id: str, host_id: str) -> bool:
        """Whether a host has called with a token of its own: the infra-env's is then of no use for it."""

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
    if grant.persona is Persona.AGENT and (refusal := _check_enrolled(grant, asked, ties)):
        return _no(refusal)
    if not grant.is_scoped:
        return ALLOWED
    if refusal := _check_scope(grant.scope, asked, ties, rule):
        return _no(refusal)
    return Verdict(narrow=rule.narrows)


def _no(reason: str) -> Verdict:
    return Verdict(403, reason)


def _check_image(grant: Grant, ties: Ties) -> str:
    if grant.scope.infra_env_id is None:
        return "a token for images has to name its infra-env"
    if grant.epoch != ties.epoch_of(grant.scope.infra_env_id):
        return "this address was made worthless; ask for a new one"
    return ""


def _check_enrolled(grant: Grant, asked: Scope, ties: Ties) -> str:
    """The token that all hosts of an infra-env boot with ends, for each host, with its first own one.

    A machine that boots its medium again has nothing else than that one, and enrols again; its own token from
    before is worthless from then on.
    """
    mine = grant.scope
    if mine.infra_env_id and mine.host_id:
        is_last = grant.epoch == ties.enrolment_of(mine.infra_env_id, mine.host_id)
        return "" if is_last else "this host has registered again since; its newer token has to be used"
    infra_env_id = asked.infra_env_id or mine.infra_env_id
    if mine.host_id or mine.cluster_id or not (infra_env_id and asked.host_id):
        return ""
    if ties.has_own_token(infra_env_id, asked.host_id):
        return "this host has a token of its own, which has to be used"
    return ""


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
