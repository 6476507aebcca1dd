# SPDX-License-Identifier: Apache-2.0
"""apiVersion and kind: what a file says that it holds."""

from __future__ import annotations

from collections.abc import Iterator

from muster.config.document import edit
from muster.model.problem import Edit, Place, Problem, problem
from muster.model.schema import Model
from muster.model.tree import Node


def check_version(
    item: Model,
    versions: tuple[str, ...],
    kind: str = "",
    *,
    optional: bool = False,
    same: tuple[str, ...] = (),
) -> Iterator[Problem]:
    """An object has a version and the kind that its file must hold.

    The first version is proposed, also for those that only have another name for it (``same``). Without
    ``kind`` none is asked for; with ``optional`` it may be missing, and be another one.
    """
    yield from _check_api_version(item, versions, same)
    named = getattr(item, "kind", None)
    if optional:
        yield from check_unread_type(item, "kind", kind)
    elif named and kind and named != kind:
        yield problem("wrong-object-kind", item.at("kind"), value=named, right=kind)
    elif not named and kind and (named == "" or not item.is_unread("kind")):
        yield problem("wrong-object-kind", _place(item, "kind"), value="missing", right=kind)


def check_unread_type(item: Model, name: str, right: str) -> Iterator[Problem]:
    """A version or kind that nothing depends on is the usual one if it is written."""
    found = getattr(item, name)
    if found and found != right:
        node = item.at(name)
        yield problem("other-type", node, key=node.key.text if node.key else name, value=found, right=right)


def _check_api_version(item: Model, versions: tuple[str, ...], same: tuple[str, ...]) -> Iterator[Problem]:
    found, right = getattr(item, "api_version", None), versions[0]
    if not found:
        if not item.is_unread("api_version") or found == "":
            yield problem(
                "missing-api-version",
                _place(item, "api_version"),
                edits=_add_version(item, right),
                right=right,
            )
    elif found not in versions:
        at = item.at("api_version")
        if found in same:
            edits = edit.replace_scalar(at, right)
            yield problem("old-api-version", at, value=found, right=right, edits=edits)
        else:
            yield problem("wrong-api-version", at, value=found, right=right)


def _place(item: Model, name: str) -> Place:
    written: Node | None = item.places.get(name)
    return Place.start_of(item.node) if written is None else Place.of_key(written)


def _add_version(item: Model, version: str) -> tuple[Edit, ...]:
    if item.has("api_version"):
        return edit.replace_scalar(item.at("api_version"), version)
    return edit.insert_entry(item.node, "apiVersion", version)
