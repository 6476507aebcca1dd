# SPDX-License-Identifier: Apache-2.0
"""What a table of states is: rows in order, of which the first that fits is taken.

    Row("refresh", "known insufficient", "disconnected", when="!connected", reason="…")

Words of `when` are names of conditions, `!` turns one around. Without a target the state stays,
and only the effects happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

import msgspec

Trigger: TypeAlias = Literal[
    "register",
    "progress",
    "installation-failed",
    "media-disconnected",
    "cancel",
    "reset",
    "install",
    "bind",
    "unbind",
    "reclaim",
    "artifacts-ready",
    "artifacts-failed",
    "transform",
    "prepare",
    "fail",
    "refresh",
]
TRIGGERS: Final[Mapping[str, str]] = {
    "register": "a host asks to be taken in",
    "progress": "a host reports a stage",
    "installation-failed": "the install step ended with an error",
    "media-disconnected": "a host cannot read its boot medium",
    "cancel": "a user stops the installation",
    "reset": "a user starts over",
    "install": "a user adds a host to a cluster that exists",
    "bind": "a user gives a pool's host to a cluster",
    "unbind": "a user gives a host back to its pool",
    "reclaim": "a host of a cluster is booted back into its pool",
    "artifacts-ready": "a host has what it boots its pool's medium from",
    "artifacts-failed": "a host could not get it",
    "transform": "a user wants to add hosts to an installed cluster",
    "prepare": "a user starts the installation",
    "fail": "the cluster's controller reports that it failed",
    "refresh": "something that the state depends on changed, or a deadline passed",
}
"""Each trigger, and when it happens."""
S = TypeVar("S")


class Row(msgspec.Struct, frozen=True):
    """One transition."""

    trigger: Trigger
    source: str
    """The states that it starts from, separated by spaces."""
    to: str = ""
    when: str = ""
    """Names of conditions that all hold, separated by spaces; `!` before one that does not."""
    reason: str = ""
    """What the state's text says then; words in braces are filled in."""
    also: str = ""
    """Names of what else happens."""
    refuse: Literal["", "forbidden", "conflict"] = ""
    """Who asks is told that it is not done."""

    def sources(self) -> tuple[str, ...]:
        """The states that it starts from."""
        return tuple(self.source.split())


class Table(Generic[S]):
    """Rows by trigger and state, with their conditions looked up."""

    def __init__(self, rows: Iterable[Row], conditions: Mapping[str, Callable[[S], bool]]) -> None:
        self.rows: Final = tuple(rows)
        self._index: dict[tuple[str, str], list[tuple[Row, tuple[tuple[Any, bool], ...]]]] = {}
        for row in self.rows:
            checks = tuple((conditions[name.lstrip("!")], name[0] != "!") for name in row.when.split())
            for state in row.sources():
                self._index.setdefault((row.trigger, state), []).append((row, checks))

    def find(self, trigger: Trigger, state: str, sight: S) -> Row | None:
        """The first row that fits."""
        for row, checks in self._index.get((trigger, state), ()):
            for check, wanted in checks:
                if check(sight) is not wanted:
                    break
            else:
                return row
        return None

    def states(self) -> tuple[str, ...]:
        """Every state that a row starts from or leads to, in the order of the rows."""
        return tuple(dict.fromkeys(each for row in self.rows for each in (*row.sources(), row.to) if each))
