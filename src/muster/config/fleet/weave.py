# SPDX-License-Identifier: Apache-2.0
"""Template and row → the trees of one site. Only what a row changes is made anew; all the rest is shared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from muster.config.fleet.fault import Fault
from muster.config.fleet.paths import Path, Steps, find_path, look_up
from muster.config.fleet.template import Placeholder, Template
from muster.config.spelling import closest
from muster.frozen import dataclass
from muster.model.tree import Map, Node, Scalar, find
from muster.model.tree import Sequence as List

FOLDER: Final = "folder"
"""The column that says where a site's files go; without it, the cluster's name does."""
_NETWORK: Final = "image-based-config.networkConfig"
SHORT: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("install-config.metadata.name",),
    "baseDomain": ("install-config.baseDomain",),
    "hostname": ("image-based-config.hostname",),
    "machineNetwork": ("install-config.networking.machineNetwork[0].cidr",),
    "interface": (f"{_NETWORK}.interfaces[0].name", f"{_NETWORK}.routes.config[0].next-hop-interface"),
    "mac": (f"{_NETWORK}.interfaces[0].mac-address",),
    "address": (f"{_NETWORK}.interfaces[0].ipv4.address[0].ip",),
    "prefix": (f"{_NETWORK}.interfaces[0].ipv4.address[0].prefix-length",),
    "gateway": (f"{_NETWORK}.routes.config[0].next-hop-address",),
    "dns": (f"{_NETWORK}.dns-resolver.config.server[0]",),
}
"""Columns that have a usual place. The template can put them elsewhere with placeholders."""


@dataclass
class _Spot:
    """A place of a tree, and what is done there and below."""

    column: str = ""
    placeholder: Placeholder | None = None
    below: dict[str | int, _Spot] = field(default_factory=dict)

    def at(self, steps: Steps) -> _Spot:
        spot = self
        for step in steps:
            spot = spot.below.setdefault(step, _Spot())
        return spot


@dataclass(frozen=True)
class Loom:
    """How the columns of a table meet the places of a template."""

    template: Template
    spots: Mapping[str, _Spot] = field(repr=False)
    faults: tuple[Fault, ...]
    hidden: frozenset[str]
    """Columns that hold secrets."""

    def weave(self, cells: Mapping[str, Node]) -> dict[str, Map]:
        """The files of one site. RowError when the row lacks what the template needs."""
        trees: dict[str, Map] = {}
        for file, tree in self.template.trees.items():
            found = _weave(tree, self.spots[file], cells)
            assert isinstance(found, Map)
            trees[file] = found
        return trees


def build_loom(template: Template, columns: Sequence[str], where: str) -> Loom:
    """Settle once what each column is for."""
    spots = {file: _Spot() for file in template.trees}
    faults: list[Fault] = []
    hidden: set[str] = set()
    used = {column for each in template.placeholders for column in each.columns}
    for placeholder in template.placeholders:
        spots[placeholder.path.file].at(placeholder.path.steps).placeholder = placeholder
        if look_up(placeholder.path).secret:
            hidden.update(placeholder.columns)
    for column in columns:
        paths = list(_paths_of(column, template))
        for path in paths:
            target = look_up(path)
            fault = target.fault or _list_fault(template, path)
            if fault:
                faults.append(Fault(where, f"column {column}: {fault}", "`muster explain` lists all fields"))
            if target.secret:
                hidden.add(column)
            spots[path.file].at(path.steps).column = column
        if not paths and column not in used and column != FOLDER:
            faults.append(_unused(column, used, where))
    faults += _unfilled(template, columns, where)
    return Loom(template, spots, tuple(faults), frozenset(hidden))


def _paths_of(column: str, template: Template) -> Iterator[Path]:
    """The places that a column sets by itself."""
    path = find_path(column)
    if path is not None:
        yield path
    for text in SHORT.get(column, ()):
        usual = find_path(text)
        assert usual is not None
        if _is_there(template, usual) and not _has_placeholder(template, usual):
            yield usual


def _is_there(template: Template, path: Path) -> bool:
    """Whether the template says something there; what is not in a list's free part can always be added."""
    if path.file == "install-config" and path.steps[0] != "networking":
        return True
    if len(path.steps) == 1:
        return True
    tree = template.trees[path.file]
    return find(tree, path.steps) is not find(tree, path.steps[:-1])


def _has_placeholder(template: Template, path: Path) -> bool:
    return any(each.path == path for each in template.placeholders)


def _list_fault(template: Template, path: Path) -> str:
    """A list has no entry of that number, and it is not the next one."""
    node: Node = template.trees[path.file]
    for index, step in enumerate(path.steps):
        child = find(node, (step,))
        if isinstance(step, int) and not (isinstance(node, List) and step <= len(node.items)):
            return f"the template has no {Path(path.file, path.steps[: index + 1])}"
        if child is node:
            return ""
        node = child
    return ""


def _unused(column: str, used: set[str], where: str) -> Fault:
    right = closest(column, [*used, *SHORT, FOLDER])
    if right is None and column in SHORT:
        return Fault(
            where,
            f"column {column}: the template has no {SHORT[column][0]}",
            f"write ${{{column}}} where it belongs in the template",
        )
    meant = f"; did you mean {right}?" if right and right != column else ""
    return Fault(
        where,
        f"column {column} is used nowhere{meant}",
        f"write ${{{column}}} into the template, name a field like image-based-config.hostname, or remove it",
    )


def _unfilled(template: Template, columns: Sequence[str], where: str) -> Iterator[Fault]:
    """Placeholders that no column fills."""
    missing = {
        column: each
        for each in reversed(template.placeholders)
        for column in each.columns
        if column not in columns
    }
    for column, each in missing.items():
        right = closest(column, columns)
        meant = f"; did you mean {right}?" if right else ""
        line = each.node.source.position(each.node.start)[0]
        yield Fault(
            where,
            f"there is no column {column} for ${{{column}}} in {each.node.source.name}:{line}{meant}",
            "add the column, or take it out of the template; ${ itself is written $${",
        )


def _weave(node: Node | None, spot: _Spot, cells: Mapping[str, Node]) -> Node | None:
    """What stands at a spot for a row; the same object when the row changes nothing there."""
    cell = cells.get(spot.column) if spot.column else None
    if cell is not None:
        return _under(cell, node)
    if spot.placeholder is not None:
        return _under(spot.placeholder.fill(cells), node)
    changed: dict[str | int, Node] = {}
    for step, below in spot.below.items():
        old = _child(node, step)
        new = _weave(old, below, cells)
        if new is not None and new is not old:
            changed[step] = new
    return _with(node, changed) if changed else node


def _child(node: Node | None, step: str | int) -> Node | None:
    if isinstance(node, Map):
        return node.items.get(str(step))
    if isinstance(node, List) and isinstance(step, int) and step < len(node.items):
        return node.items[step]
    return None


def _with(node: Node | None, changed: Mapping[str | int, Node]) -> Node:
    first = next(iter(changed.values()))
    if isinstance(node, List):
        listed = List(node.source, node.start, flow=node.flow)
        listed.items = list(node.items)
        for step, new in changed.items():
            if isinstance(step, int):
                listed.items[step : step + 1] = [new]
        return _under(listed, node, node.end)
    mapping = Map(first.source, first.start, flow=True)
    end = first.end
    if isinstance(node, Map):
        mapping, end = Map(node.source, node.start, flow=node.flow), node.end
        mapping.items = dict(node.items)
    for step, new in changed.items():
        if new.key is None:
            new.key = Scalar(new.source, new.start, new.end, str(step), plain=True)
        mapping.items[str(step)] = new
    return _under(mapping, node, end)


def _under(new: Node, old: Node | None, end: int | None = None) -> Node:
    """A copy of a value in the place of another one: it stands under the same key."""
    made: Node
    match new:
        case Scalar():
            made = Scalar(new.source, new.start, new.end, new.text, plain=new.plain)
        case Map():
            made = Map(new.source, new.start, flow=new.flow)
            made.items = new.items
        case List():
            made = List(new.source, new.start, flow=new.flow)
            made.items = new.items
        case _:
            raise TypeError(new)
    made.end = new.end if end is None else end
    made.key = old.key if old is not None else None
    return made
