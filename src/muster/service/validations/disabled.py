# SPDX-License-Identifier: Apache-2.0
"""Validations that the settings of a service switch off, for all clusters that have no list of their own."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from muster.errors import UserError
from muster.service.realm import Draft, Realm
from muster.service.state import Cluster, Host
from muster.service.validations.run import validations

_OF_ALL = frozenset({"ignored_host_validations", "ignored_cluster_validations"})
"""Fields of a cluster that all validations depend on."""


def check_disabled(ids: Iterable[str]) -> frozenset[str]:
    """The validations that are to be switched off: known ones, and none that nothing goes without."""
    known = {each.id: each for of in ("host", "cluster") for each in validations(of)}
    for id in (wanted := frozenset(ids)):
        if id not in known:
            close = get_close_matches(id.lower().replace("_", "-"), known, n=3, cutoff=0.5)
            raise UserError(
                f"there is no validation {id}" + (f"; did you mean {' or '.join(close)}?" if close else ""),
                hint="docs/reference/validations.md lists all of them",
            )
        if not known[id].ignorable:
            raise UserError(
                f"the validation {id} cannot be switched off",
                hint="no installation comes to an end without it",
            )
    return wanted


def is_judged_otherwise(realm: Realm, disabled: frozenset[str]) -> bool:
    """Whether what is known of a realm was found with other settings."""
    return any(
        _differs(each, disabled) for each in (realm.cluster, *realm.hosts.values()) if each is not None
    )


def _differs(subject: Cluster | Host, disabled: frozenset[str]) -> bool:
    return any((each.status == "disabled") != (each.id in disabled) for each in subject.verdicts)


def judge_again(draft: Draft) -> None:
    """Have all validations of a realm asked again, although nothing of it changed."""
    if not draft.is_pool:
        draft.changes.setdefault(("cluster", draft.cluster.id), set()).update(_OF_ALL)
        return
    for id in draft.hosts:
        draft.changes.setdefault(("host", id), set()).add("cluster_id")
