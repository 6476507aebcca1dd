# SPDX-License-Identifier: Apache-2.0
"""Operators that people ask for with a cluster: those that are known, and no others."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from muster.model.wire.cluster import ClusterCreateParams, V2ClusterUpdateParams
from muster.model.wire.operators import MonitoredOperator
from muster.service.decisions import checks
from muster.service.state import Cluster
from muster.service.validations.operators import OPERATORS

Operators: TypeAlias = tuple[MonitoredOperator, ...]


def asked_operators(params: ClusterCreateParams | V2ClusterUpdateParams) -> Operators | None:
    """What is to be installed on top, of that which is known; none: nothing is said of it."""
    if params.operator_bundles:
        why = f"there is no bundle {params.operator_bundles[0].id}"
        raise checks.refuse("operator_bundles", why, "none can be chosen yet: leave it out")
    for each in params.olm_operators or ():
        if each.name not in OPERATORS:
            known = ", ".join(sorted(name for name in OPERATORS if name)) or "none yet"
            why = f"there is no operator {each.name}"
            raise checks.refuse("olm_operators", why, f"leave it out; those that can be chosen: {known}")
    if params.olm_operators is None:
        return None
    return tuple(
        MonitoredOperator(
            name=each.name, operator_type="olm", timeout_seconds=3600, properties=each.properties
        )
        for each in params.olm_operators
    )


def replace_operators(cluster: Cluster, asked: Operators) -> Operators:
    """Those that come with every cluster stay; what is known of the others that stay does, too."""
    known = {each.name: each for each in cluster.monitored_operators}
    builtin = tuple(each for each in cluster.monitored_operators if each.operator_type != "olm")
    return builtin + tuple(
        msgspec.structs.replace(known.get(each.name, each), properties=each.properties, cluster_id=cluster.id)
        for each in asked
    )
