# SPDX-License-Identifier: Apache-2.0
"""lab.yaml speaks of hosts and cards that the site has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config.derive import host_counts
from muster.model.fault import Fault
from muster.model.lab import LabConfig
from muster.model.problem import Place, Problem, problem
from muster.model.site import Site
from muster.model.tree import Node


def check_machines(site: Site) -> Iterator[Problem]:
    """Machines are hosts of the site, each described once."""
    lab, known = site.lab, _host_names(site)
    if lab is None or known is None:
        return
    first: dict[str, Node] = {}
    for machine in lab.machines:
        at = machine.at("name")
        if machine.name and machine.name not in known:
            yield problem("lab-unknown-host", at, value=machine.name, known=", ".join(known))
        elif machine.name in first:
            yield problem("lab-twice", at, value=machine.name, first=Place.of(first[machine.name]).line)
        if machine.name:
            first.setdefault(machine.name, at)


def check_faults(site: Site) -> Iterator[Problem]:
    """Faults are those of hosts of the site."""
    lab, known = site.lab, _host_names(site)
    for fault, node in lab.faults.located() if lab is not None and known is not None else ():
        for name in _named(fault):
            if name not in (known or ()):
                yield problem("lab-unknown-host", node, value=name, known=", ".join(known or ()))


def check_segments(site: Site) -> Iterator[Problem]:
    """Segments connect cards of the site's hosts, each card once."""
    lab = site.lab or LabConfig()
    cards = [f"{host.label}/{card.name}" for host in site.hosts for card in host.host.interfaces if card.name]
    names = {*cards, *(card.partition("/")[2] for card in cards)}
    first: dict[str, Node] = {}
    for segment in lab.segments:
        for card, node in segment.cards.located():
            if cards and card not in names:
                yield problem("lab-unknown-card", node, value=card, known=", ".join(cards))
            elif card in first:
                yield problem("lab-twice", node, value=card, first=Place.of(first[card]).line)
            first.setdefault(card, node)


def _named(fault: Fault) -> tuple[str, ...]:
    return tuple(name for side in fault.sides for name in side) or (fault.machine,)


def _host_names(site: Site) -> list[str] | None:
    """Names of all hosts; None when some are named only by the lab."""
    names = [site_host.host.hostname for site_host in site.hosts]
    if not all(names) or len(names) < host_counts(site.install).total:
        return None
    return [name for name in names if name]


RULES: Final = (check_machines, check_faults, check_segments)
