# SPDX-License-Identifier: Apache-2.0
"""add-ons.yaml names each add-on once. Whether the release has it is known where the release is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.model.problem import Place, Problem, problem
from muster.model.site import Site
from muster.model.tree import Node


def check_add_ons(site: Site) -> Iterator[Problem]:
    """No add-on is named twice."""
    first: dict[str, Node] = {}
    for id, node in site.add_ons.add_ons.located() if site.add_ons is not None else ():
        if id in first:
            yield problem("add-on-twice", node, value=id, first=Place.of(first[id]).line)
        first.setdefault(id, node)


RULES: Final = (check_add_ons,)
