# SPDX-License-Identifier: Apache-2.0
"""Renders the tables of states for the reference: a diagram of each, and every row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from muster.service.states import cluster_conditions, cluster_effects, host_conditions, host_effects
from muster.service.states.cluster_table import CLUSTERS
from muster.service.states.host_table import HOSTS
from muster.service.states.stages import ROLES
from muster.service.states.table import TRIGGERS, Row, Table
from muster.service.states.waits import Wait, waits
from muster.service.states.words import span

_HEAD: Final = """# States

Which state of a host or a cluster follows which. The service reads the same tables: rows are tried in
order, and the first that fits is taken. Words in braces are filled in. What is waited for in a state, for
how long, and what to do about it, is in a table of its own.
"""


def render_states() -> str:
    """The page about states."""
    parts = [_HEAD, "## What makes states change\n", _table(("trigger", "when"), TRIGGERS.items())]
    parts += _part("Hosts", HOSTS, host_conditions.CONDITIONS, host_effects.EFFECTS)
    parts += ["### What hosts wait for\n", _waits(waits()["host"])]
    parts += ["### Stages of an installation\n", _table(("role", "stages"), _stages())]
    parts += _part("Clusters", CLUSTERS, cluster_conditions.CONDITIONS, cluster_effects.EFFECTS)
    parts += ["### What clusters wait for\n", _waits(waits()["cluster"])]
    return "\n".join(parts)


def _stages() -> Iterable[tuple[str, str]]:
    return [(role, ", ".join(stages)) for role, stages in ROLES.items()]


def _part(
    title: str,
    table: Table[Any],
    conditions: Mapping[str, Callable[..., Any]],
    effects: Mapping[str, Callable[..., Any]],
) -> list[str]:
    rows = [
        (
            row.trigger,
            ", ".join(row.sources()),
            _words(row.when),
            _target(row),
            row.reason,
            _words(row.also),
        )
        for row in table.rows
    ]
    return [
        f"## {title}\n",
        render_mermaid(table.rows),
        _table(("trigger", "from", "if", "to", "text", "also"), rows),
        "### Conditions\n",
        _table(("condition", "it holds when"), _docs(conditions)),
        "### Effects\n",
        _table(("effect", "what happens"), _docs(effects)),
    ]


def _target(row: Row) -> str:
    if row.refuse:
        return "stays; 403" if row.refuse == "forbidden" else "stays; 409"
    return row.to or "stays"


def _words(text: str) -> str:
    return ", ".join(f"not {each[1:]}" if each.startswith("!") else each for each in text.split())


def _docs(functions: Mapping[str, Callable[..., Any]]) -> Iterable[tuple[str, str]]:
    return [(name, (each.__doc__ or "").strip()) for name, each in functions.items()]


def _waits(entries: Mapping[str, Wait]) -> str:
    rows = [
        (kind, span(each.within), each.who, each.reason, each.action, each.ignored)
        for kind, each in entries.items()
    ]
    return _table(("state", "for", "who can act", "reason", "action", "if ignored"), rows)


def render_mermaid(rows: Iterable[Row]) -> str:
    """A diagram of what leads where; what users ask for and what follows by itself on the same arrow."""
    arrows: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        for source in row.sources():
            if row.to not in ("", source):
                arrows.setdefault((source, row.to), {})[row.trigger] = None
    states = dict.fromkeys(state for arrow in arrows for state in arrow)
    lines = ["```mermaid", "stateDiagram-v2"]
    lines += [f'    state "{state}" as {_id(state)}' for state in states]
    lines += [
        f"    {_id(source)} --> {_id(to)}: {', '.join(triggers)}" for (source, to), triggers in arrows.items()
    ]
    return "\n".join([*lines, "```\n"])


def _id(state: str) -> str:
    return state.replace("-", "_")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(each.replace('|', chr(92) + '|') for each in row)} |" for row in rows]
    return "\n".join(lines) + "\n"
