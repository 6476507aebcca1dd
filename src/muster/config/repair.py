# SPDX-License-Identifier: Apache-2.0
"""Mechanical mistakes, repaired: the smallest change of text, shown as a diff before it is written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muster.config.check import check_folder
from muster.config.document.folder import Folder, Memory
from muster.model.catalogue import Severity
from muster.model.problem import Edit, Move, Problem, Repair
from muster.model.site import Environment
from muster.model.tree import Source
from muster.redact import masked_lines

_MAX_ROUNDS = 12


@dataclass(frozen=True)
class Repaired:
    """What would be written, and what it would replace."""

    files: Mapping[str, bytes | None]
    """New content by name; None for the old name of a file that moves."""
    before: Mapping[str, str]
    """The text of each file before, under the name that it gets."""
    moved: Mapping[str, str]
    """The old name of each file that moves, by its new name."""
    remaining: tuple[Problem, ...]
    """What is still wrong afterwards and needs a person."""


def repair_folder(folder: Folder, environment: Environment) -> Repaired:
    """Repair in memory until nothing mechanical is left; each round may uncover the next mistake."""
    files: dict[str, bytes | None] = {}
    before: dict[str, str] = {}
    moved: dict[str, str] = {}
    _, problems = check_folder(folder, environment)
    for _ in range(_MAX_ROUNDS):
        repairs = _by_source(problems)
        if not repairs:
            break
        tried = {**files, **_apply(repairs)}
        _, after = check_folder(Memory(tried, folder), environment)
        if _errors(after) > _errors(problems) and not _errors(problems):
            break
        _remember(repairs, before, moved)
        files, problems = tried, after
    kept = {name: data for name, data in files.items() if data is None or _text(data) != before.get(name)}
    return Repaired(kept, before, moved, tuple(problems))


def _errors(problems: Iterable[Problem]) -> int:
    return sum(problem.severity is Severity.ERROR for problem in problems)


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig")


def _apply(repairs: Mapping[Source, list[Repair]]) -> dict[str, bytes | None]:
    """The files that these repairs change, with their new content."""
    files: dict[str, bytes | None] = {}
    for source, mine in repairs.items():
        text = apply_edits(source.text, [each for each in mine if isinstance(each, Edit)])
        move = _move_of(mine)
        if move is not None:
            files[source.name] = None
        files[move.name if move else source.name] = text.encode("utf-8-sig" if source.marked else "utf-8")
    return files


def _move_of(repairs: Iterable[Repair]) -> Move | None:
    return next((each for each in repairs if isinstance(each, Move)), None)


def _remember(repairs: Mapping[Source, list[Repair]], before: dict[str, str], moved: dict[str, str]) -> None:
    """Note what files were before the first round that changes them."""
    for source, mine in repairs.items():
        move = _move_of(mine)
        text = before.pop(source.name, source.text) if move else source.text
        name = move.name if move else source.name
        before.setdefault(name, text)
        if move is not None:
            moved[name] = source.name


def _by_source(problems: Iterable[Problem]) -> dict[Source, list[Repair]]:
    """Repairs by the file that they change. A repair of several edits is taken whole or not at all."""
    found: dict[Source, list[Repair]] = {}
    for problem in problems:
        for source in {each.source for each in problem.edits}:
            mine = [each for each in problem.edits if each.source is source]
            taken = found.setdefault(source, [])
            if not any(_overlap(new, old) for new in mine for old in taken):
                taken.extend(mine)
    return found


def _overlap(one: Repair, other: Repair) -> bool:
    if isinstance(one, Move) or isinstance(other, Move):
        return isinstance(one, Move) and isinstance(other, Move)
    if one.start == one.end or other.start == other.end:
        return one.start <= other.end and other.start <= one.end
    return one.start < other.end and other.start < one.end


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """A text with non-overlapping edits applied."""
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def render_diff(repaired: Repaired) -> str:
    """What changes, as a unified diff without secrets."""
    parts: list[str] = []
    for name, data in repaired.files.items():
        if data is None:
            continue
        old = repaired.before.get(name, "")
        lines = difflib.unified_diff(
            _shown(old, ""), _shown(_text(data), old), repaired.moved.get(name, name), name, lineterm=""
        )
        parts += lines
    return "\n".join(parts)


def _shown(text: str, old: str) -> list[str]:
    """The lines of a text with secrets masked; a masked line that is new is marked, to show in the diff."""
    masked = masked_lines(text)
    known = set(old.splitlines())
    return [
        line if number not in masked else masked[number] + (" (changed)" if old and line not in known else "")
        for number, line in enumerate(text.splitlines(), start=1)
    ]
