# SPDX-License-Identifier: Apache-2.0
"""Which operators are installed when some are asked for: with what they depend on, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from muster.errors import UserError
from muster.release.operators.catalogue import bundles, find_operator, operators
from muster.release.operators.model import Choice, Operator


def choose_operators(names: Iterable[str], choice: Choice) -> tuple[Operator, ...]:
    """The operators that are asked for and all that they need, each after those that it needs."""
    asked = [_named(name) for name in names]
    found: dict[str, Operator] = {}
    for each in asked:
        _add(each, choice, found)
    chosen = replace(choice, operators=frozenset(found))
    for each in found.values():
        _check(each, chosen)
    return tuple(found.values())


def operators_of(bundle: str, choice: Choice) -> tuple[tuple[Operator, bool], ...]:
    """The operators of a bundle in a cluster, and whether each of them is optional."""
    if bundle not in bundles():
        raise UserError(f"there is no bundle {bundle[:80]!r}", hint=f"there are {', '.join(bundles())}")
    return tuple(
        (each, membership.is_optional)
        for each in operators().values()
        for membership in each.bundles
        if membership.id == bundle and membership.when.holds(choice)
    )


def needed_by(chosen: Iterable[Operator], choice: Choice) -> Mapping[str, tuple[str, ...]]:
    """Who needs an operator, by its id; what nobody needs was asked for."""
    found: dict[str, list[str]] = {}
    for each in chosen:
        for dependency in each.dependencies:
            if dependency.when.holds(choice):
                found.setdefault(dependency.id, []).append(each.id)
    return {name: tuple(who) for name, who in found.items()}


def _named(name: str) -> Operator:
    found = find_operator(name)
    if found is None:
        from difflib import get_close_matches

        close = get_close_matches(name, operators(), n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(operators())}"
        raise UserError(f"there is no operator {name[:80]!r}", hint=hint)
    return found


def _add(operator: Operator, choice: Choice, found: dict[str, Operator]) -> None:
    """Depth first: what is needed goes before who needs it. The catalogue has no circles; a test says so."""
    if operator.id in found:
        return
    for dependency in operator.dependencies:
        if dependency.when.holds(choice):
            _add(_named(dependency.id), choice, found)
    found[operator.id] = operator


def _check(operator: Operator, choice: Choice) -> None:
    if operator.min_version and choice.version < operator.min_version:
        wanted = ".".join(map(str, operator.min_version))
        raise UserError(
            f"{operator.name} needs OpenShift {wanted} or later",
            hint=f"leave {operator.id} out, or take a newer release",
        )
    if choice.is_single_node and not operator.requirements.cluster.single_node:
        raise UserError(
            f"{operator.name} does not work on a single node", hint=f"leave {operator.id} out, or add hosts"
        )
    for other in sorted(operator.conflicts & choice.operators):
        raise UserError(
            f"{operator.name} and {operators()[other].name} cannot be in one cluster",
            hint=f"leave out {operator.id} or {other}",
        )
