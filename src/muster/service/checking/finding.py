# SPDX-License-Identifier: Apache-2.0
"""Something that is wrong with what somebody writes, and where."""

from __future__ import annotations

from typing import Annotated, Literal

from muster.model.catalogue import Severity
from muster.model.problem import Problem
from muster.model.wire.struct import Wire, about


class Finding(Wire, frozen=True, kw_only=True):
    """Something that is wrong, or most likely is."""

    severity: Literal["error", "warning"]
    message: str
    why: str = ""
    fix: str = ""
    line: Annotated[int | None, about("From 1, in the text that was sent.")] = None
    column: int | None = None


def make_finding(problem: Problem, line: int | None = None, column: int | None = None) -> Finding:
    """A problem of a file as one of a text."""
    return Finding(
        severity="error" if problem.severity is Severity.ERROR else "warning",
        message=problem.message,
        why=problem.why,
        fix=problem.fix,
        line=line,
        column=column,
    )
