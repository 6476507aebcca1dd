# SPDX-License-Identifier: Apache-2.0
"""One row, read and judged by the same rules as a site of its own.

What a row does not change was read once, with the template, and is not read again: values are frozen, so that
all sites can share them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from muster.config.document.bind import Binder
from muster.config.fleet.template import Template
from muster.config.rules import RULES
from muster.model.image_based import ImageBasedConfig
from muster.model.install_config import InstallConfig
from muster.model.problem import Problem, in_order
from muster.model.schema import Field
from muster.model.site import Site
from muster.model.tree import Map, Node, Sequence


@dataclass
class Checker:
    """Reads and judges the sites of one template."""

    template: Template
    lenient: str = ""
    """Where unknown keys of install-config.yaml only warn, as `Binder` has it."""
    _shared: frozenset[int] = field(init=False, repr=False)
    _read: dict[tuple[int, int], tuple[Any, tuple[Problem, ...]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._shared = frozenset(id(node) for tree in self.template.trees.values() for node in _nodes(tree))

    def check(self, trees: Mapping[str, Map]) -> tuple[Site, list[Problem]]:
        """The site that the trees describe, and all that is wrong with it."""
        binder = _SharingBinder(self._shared, self._read)
        strict = _SharingBinder(self._shared, self._read, lenient=self.lenient)
        install = strict.bind(InstallConfig, trees["install-config"])
        config = binder.bind(ImageBasedConfig, trees["image-based-config"])
        site = replace(self.template.site, install=install, image_based=config, unread=())
        problems = [*strict.problems, *binder.problems]
        for rule in RULES:
            problems.extend(rule(site))
        return site, in_order(problems)


class _SharingBinder(Binder):
    """Reads values that are part of the template once."""

    def __init__(
        self,
        shared: frozenset[int],
        read: dict[tuple[int, int], tuple[Any, tuple[Problem, ...]]],
        *,
        lenient: str = "",
    ) -> None:
        super().__init__(lenient=lenient)
        self._shared = shared
        self._known = read

    def _read(self, entry: Field, node: Node) -> Any:
        if id(node) not in self._shared:
            return super()._read(entry, node)
        key = (id(entry), id(node))
        known = self._known.get(key)
        if known is None:
            before = len(self.problems)
            value = super()._read(entry, node)
            self._known[key] = (value, tuple(self.problems[before:]))
            return value
        self.problems.extend(known[1])
        return known[0]


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    children: list[Node] = []
    if isinstance(node, Map):
        children = list(node.items.values())
    elif isinstance(node, Sequence):
        children = node.items
    for child in children:
        yield from _nodes(child)
