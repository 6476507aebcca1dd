# SPDX-License-Identifier: Apache-2.0
"""Problems → text and JSON: the same words everywhere, and never a secret in the excerpt."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from muster.config.spelling import plural
from muster.model.catalogue import Severity
from muster.model.problem import Place, Problem
from muster.model.tree import Source
from muster.redact import MASK, masked_lines, printable


@lru_cache(maxsize=64)
def _masked_lines(source: Source) -> dict[int, str]:
    return masked_lines(source.text, source.secrets)


def excerpt(place: Place) -> list[str]:
    """The offending line with a caret below it; empty when there is none, or the file as such is meant."""
    line, column = place.position
    written = place.source.line(line)
    if not written.strip() or place.start == place.end == 0:
        return []
    shown = _masked_lines(place.source).get(line)
    if shown is None:
        shown, start, width = written, column, _width(place, written, column)
    else:
        mask = shown.find(MASK) + 1
        before = not mask or column < mask
        start = column if before else mask
        width = min(place.end - place.start, len(shown) - column + 1) if before else len(MASK)
        width = min(width, mask - column) if before and mask else width
    shown, start = _window(shown.replace("\t", " "), start)
    gutter = f"{line:>5} | "
    return [f"{gutter}{shown}", f"{' ' * 5} | {' ' * (start - 1)}{'^' * max(1, width)}"]


def _width(place: Place, written: str, column: int) -> int:
    longest = len(written.rstrip()) - column + 1
    return max(1, min(place.end - place.start, longest, 80))


def _window(text: str, column: int, size: int = 100) -> tuple[str, int]:
    """At most ``size`` characters of a line, around the column."""
    if len(text) <= size:
        return text, column
    start = max(0, min(column - 20, len(text) - size))
    head = "…" if start else ""
    tail = "…" if start + size < len(text) else ""
    return f"{head}{text[start : start + size]}{tail}", column - start + len(head)


def render_problem(problem: Problem) -> str:
    """One problem for people."""
    head = f"{problem.place}: {problem.severity} {problem.rule.id}: {problem.message}"
    lines = [head, *excerpt(problem.place), f"      why: {problem.why}", f"      fix: {problem.fix}"]
    if problem.edits:
        lines[-1] += "  [--fix]"
    return printable("\n".join(lines))


def render_problems(problems: Iterable[Problem]) -> str:
    """All problems for people, and their count."""
    found = list(problems)
    parts = [render_problem(problem) for problem in found]
    return "\n\n".join([*parts, render_count(found)])


def render_count(problems: Iterable[Problem]) -> str:
    """How many errors and warnings there are, and how many of them --fix repairs."""
    found = list(problems)
    errors = sum(problem.severity is Severity.ERROR for problem in found)
    text = f"{plural(errors, 'error')}, {plural(len(found) - errors, 'warning')}"
    repairable = sum(bool(problem.edits) for problem in found)
    if repairable:
        text += f"; {repairable} can be repaired with --fix"
    return text


def as_json(problem: Problem) -> dict[str, object]:
    """One problem for scripts."""
    line, column = problem.place.position
    end_line, end_column = problem.place.source.position(max(problem.place.end, problem.place.start))
    return {
        "id": problem.rule.id,
        "name": problem.rule.slug,
        "severity": str(problem.severity),
        "file": problem.place.source.name,
        "line": line,
        "column": column,
        "endLine": end_line,
        "endColumn": end_column,
        "message": problem.message,
        "why": problem.why,
        "fix": problem.fix,
        "excerpt": excerpt(problem.place)[:1],
        "repairable": bool(problem.edits),
    }


def problems_json(problems: Iterable[Problem]) -> dict[str, object]:
    """All problems for scripts."""
    found = list(problems)
    errors = sum(problem.severity is Severity.ERROR for problem in found)
    return {
        "valid": errors == 0,
        "errors": errors,
        "warnings": len(found) - errors,
        "problems": [as_json(problem) for problem in found],
    }
