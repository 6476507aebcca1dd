# SPDX-License-Identifier: Apache-2.0
"""nodes-config.yaml: machines that join a cluster; what holds for every host is checked with the hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.model.problem import Place, Problem, problem
from muster.model.site import Site
from muster.model.tree import Sequence


def check_hosts_given(site: Site) -> Iterator[Problem]:
    """There is at least one host; a list that is not written at all is missing like any field."""
    nodes = site.nodes
    written = nodes.at("hosts") if nodes is not None else None
    if nodes is not None and isinstance(written, Sequence) and not written.items:
        yield problem("no-nodes", Place.of_key(written))


RULES: Final = (check_hosts_given,)
