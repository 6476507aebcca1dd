# SPDX-License-Identifier: Apache-2.0
"""The catalogue of operators: one file each in ``entries/``, and the bundles that they belong to."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from muster.errors import UserError
from muster.release.operators.model import (
    Bundle,
    ClusterNeeds,
    Condition,
    Dependency,
    Group,
    HostNeeds,
    Membership,
    Namespace,
    Operator,
    Piece,
    Ready,
    Requirements,
    Subscription,
)

_VERSION: Final = re.compile(r"(\d{1,4})\.(\d{1,4})(?:[.-].*)?", re.ASCII)


@cache
def operators() -> Mapping[str, Operator]:
    """All operators by id."""
    folder = files("muster.release.operators") / "entries"
    texts = [entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".toml")]
    found = [parse_operator(tomllib.loads(text)) for text in texts]
    return {each.id: each for each in sorted(found, key=lambda each: each.id)}


@cache
def bundles() -> Mapping[str, Bundle]:
    """All bundles by id."""
    text = (files("muster.release.operators") / "bundles.toml").read_text("utf-8")
    return {name: Bundle(name, **words) for name, words in tomllib.loads(text).items()}


def find_operator(name: str) -> Operator | None:
    """The operator that has an id, or had it once."""
    for each in operators().values():
        if name == each.id or name in each.aliases:
            return each
    return None


def parse_version(text: str) -> tuple[int, int]:
    """Major and minor of a version of OpenShift."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise UserError(f"{text[:40]!r} is not a version of OpenShift", hint="write it as 4.21 or 4.21.3")
    return int(match[1]), int(match[2])


def parse_operator(body: Mapping[str, Any]) -> Operator:
    """One entry; a mistake in it is ours, and the tests find it."""
    rest = dict(body)
    text = str(rest.pop("description"))
    group = rest.pop("group", None)
    minimum = rest.pop("min_version", None)
    return Operator(
        description=" ".join(text.split()),
        namespace=Namespace(**rest.pop("namespace")),
        subscription=Subscription(**rest.pop("subscription")),
        group=Group(group["name"], tuple(group.get("targets", ()))) if group else None,
        aliases=tuple(rest.pop("aliases", ())),
        bundles=tuple(Membership(**_conditional(each)) for each in rest.pop("bundles", ())),
        dependencies=tuple(_dependency(each) for each in rest.pop("dependencies", ())),
        conflicts=frozenset(rest.pop("conflicts", ())),
        min_version=parse_version(minimum) if minimum else None,
        requirements=_requirements(rest.pop("requirements", {})),
        manifests=_pieces(rest.pop("manifests", ())),
        post_install=_pieces(rest.pop("post_install", ())),
        ready=tuple(Ready(**each) for each in rest.pop("ready", ())),
        **rest,
    )


def _dependency(entry: str | Mapping[str, Any]) -> Dependency:
    return Dependency(entry) if isinstance(entry, str) else Dependency(**_conditional(entry))


def _pieces(entries: Iterable[Mapping[str, Any]]) -> tuple[Piece, ...]:
    return tuple(Piece(**_conditional(each)) for each in entries)


def _requirements(body: Mapping[str, Mapping[str, Any]]) -> Requirements:
    cluster = dict(body.get("cluster", {}))
    vendors = tuple(cluster.pop("gpu_vendors", ()))
    hosts = {name: HostNeeds(**needs) for name, needs in body.items() if name != "cluster"}
    return Requirements(hosts, ClusterNeeds(gpu_vendors=vendors, **cluster))


def _conditional(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry with its condition, which has names that Python does not allow."""
    rest = dict(entry)
    when = dict(rest.pop("when", {}))
    start, end = when.pop("from", None), when.pop("below", None)
    condition = Condition(
        from_version=parse_version(start) if start else None,
        below_version=parse_version(end) if end else None,
        with_operators=frozenset(when.pop("with", ())),
        without_operators=frozenset(when.pop("without", ())),
        **when,
    )
    return {**rest, "when": condition}
