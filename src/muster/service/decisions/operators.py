# SPDX-License-Identifier: Apache-2.0
"""What people ask for on top of a cluster: add-ons of its release, and operators that are known."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

import msgspec

from muster.model.wire.cluster import ClusterCreateParams, V2ClusterUpdateParams
from muster.model.wire.operators import MonitoredOperator
from muster.release.chosen import chosen_faults
from muster.release.model import AddOn
from muster.service.decisions import checks
from muster.service.state import Cluster
from muster.service.validations.operators import OPERATORS

Operators: TypeAlias = tuple[MonitoredOperator, ...]
Offered: TypeAlias = Sequence[AddOn]
"""The add-ons of the cluster's release."""


def asked_operators(
    params: ClusterCreateParams | V2ClusterUpdateParams, offered: Offered = ()
) -> Operators | None:
    """What is to be installed on top, of that which is known; none: nothing is said of it."""
    if params.olm_operators is None and params.operator_bundles is None:
        return None
    sources: dict[str, list[str]] = {}
    for each in params.operator_bundles or ():
        for name in _bundle(each.id, offered):
            sources.setdefault(name, []).append(each.id)
    single = {each.name or "": each.properties for each in params.olm_operators or ()}
    asked = {**dict.fromkeys(sources), **single}
    _check_asked(asked, offered)
    return tuple(
        MonitoredOperator(
            name=name,
            operator_type="olm",
            timeout_seconds=3600,
            properties=properties,
            source_bundles=tuple(sources[name]) if name in sources else None,
        )
        for name, properties in asked.items()
    )


def _check_asked(asked: Collection[str], offered: Offered) -> None:
    """All of it has to be known, and to go together."""
    known = {each.id for each in offered} | {name for name in OPERATORS if name}
    for name in asked:
        if name not in known:
            why = f"there is no operator {name}"
            there = ", ".join(sorted(known)) or "none yet"
            raise checks.refuse("olm_operators", why, f"leave it out; those that can be chosen: {there}")
    add_ons = tuple(each.id for each in offered if each.id in asked)
    for fault in chosen_faults(offered, add_ons):
        raise checks.refuse("olm_operators", fault.what, fault.hint)


def _bundle(id: str, offered: Offered) -> tuple[str, ...]:
    found = tuple(each.id for each in offered if each.bundle == id)
    if not found:
        known = ", ".join(dict.fromkeys(each.bundle for each in offered)) or "none yet"
        why = f"there is no bundle {id}"
        raise checks.refuse("operator_bundles", why, f"leave it out; those that can be chosen: {known}")
    return found


def replace_operators(cluster: Cluster, asked: Operators) -> Operators:
    """Those that come with every cluster stay; what is known of the others that stay does, too."""
    known = {each.name: each for each in cluster.monitored_operators}
    builtin = tuple(each for each in cluster.monitored_operators if each.operator_type != "olm")
    return builtin + tuple(
        msgspec.structs.replace(
            known.get(each.name, each),
            properties=each.properties,
            source_bundles=each.source_bundles,
            cluster_id=cluster.id,
        )
        for each in asked
    )


def chosen_add_ons(cluster: Cluster, offered: Offered) -> tuple[str, ...]:
    """The add-ons of the release that people asked for with a cluster."""
    asked = {each.name for each in cluster.monitored_operators if each.operator_type == "olm"}
    return tuple(each.id for each in offered if each.id in asked)
