# SPDX-License-Identifier: Apache-2.0
"""The rules that compare values with each other: one small function each, one file per theme.

A rule is given the whole site and yields a problem for every place that breaks it. Its words are in the
catalogue (`muster/model/rules/*.toml`); what a single value has to look like is said by its kind
(`muster/model/values.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from muster.config.rules import (
    add_ons,
    addresses,
    cluster,
    hosts,
    image_based,
    interfaces,
    lab,
    manifests,
    mirrors,
    networking,
    nodes,
    platforms,
    proxy,
    settings,
    topology,
    trust,
    vips,
)
from muster.model.problem import Problem
from muster.model.site import Site

RuleFunction: TypeAlias = Callable[[Site], Iterator[Problem]]

RULES: Final[tuple[RuleFunction, ...]] = (
    *cluster.RULES,
    *topology.RULES,
    *platforms.RULES,
    *networking.RULES,
    *vips.RULES,
    *hosts.RULES,
    *addresses.RULES,
    *interfaces.RULES,
    *trust.RULES,
    *mirrors.RULES,
    *proxy.RULES,
    *manifests.RULES,
    *settings.RULES,
    *image_based.RULES,
    *nodes.RULES,
    *add_ons.RULES,
    *lab.RULES,
)
