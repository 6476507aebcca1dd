# SPDX-License-Identifier: Apache-2.0
"""Which operation a path means: a tree of its parts, so that many operations cost no more than few."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from muster.service.api.table.route import Route


@dataclass
class _Node:
    children: dict[str, _Node] = field(default_factory=dict)
    any: _Node | None = None
    name: str = ""
    routes: dict[str, Route] = field(default_factory=dict)


class Router:
    """Finds routes. Empty parts of a path, as of doubled and trailing slashes, do not count."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        node = self._root
        for part in filter(None, route.path.split("/")):
            if part.startswith("{"):
                node.any = node.any or _Node(name=part[1:-1])
                assert node.any.name == part[1:-1], f"{route.path}: {node.any.name} stands there already"
                node = node.any
            else:
                node = node.children.setdefault(part, _Node())
        assert route.method not in node.routes, f"{route.method} {route.path} is there twice"
        node.routes[route.method] = route

    def find(self, path: str) -> tuple[dict[str, Route], dict[str, str]]:
        """The routes of a path by method, and what stands for the names in it; none when there is no such."""
        node, ids = self._root, {}
        for part in path.split("/"):
            if not part:
                continue
            child = node.children.get(part)
            if child is None:
                child = node.any
                if child is None:
                    return {}, {}
                ids[child.name] = part
            node = child
        return node.routes, ids
