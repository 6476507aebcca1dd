# SPDX-License-Identifier: Apache-2.0
"""Mechanical mistakes, repaired: the smallest change of text, shown as a diff before it is written."""

from __future__ import annotations

import difflib
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from muster.config.check import check_folder
from muster.config.document.folder import Folder, Memory
from muster.frozen import dataclass
from muster.model.catalogue import Severity
from muster.model.problem import Edit, Move, Problem, Repair
from muster.model.site import Environment
from muster.model.tree import Source
from muster.redact import masked_lines

_MAX_ROUNDS = 60


@dataclass(frozen=True)
class Repaired:
    """What would be written, and what it would replace."""

    before: Mapping[str, Source]
    """Each file as it was, under the name that it gets."""
    after: Mapping[str, Source]
    """Each file as it will be."""
    moved: Mapping[str, str]
    """The old name of each file that moves, by its new name."""
    remaining: tuple[Problem, ...]
    """What is still wrong afterwards and needs a person."""

    @property
    def files(self) -> dict[str, bytes | None]:
        """New content by name; None for the old name of a file that moves."""
        gone = dict.fromkeys(self.moved.values())
        return {**gone, **{name: _bytes(source) for name, source in self.after.items()}}


def repair_folder(folder: Folder, environment: Environment) -> Repaired:
    """Repair in memory until nothing mechanical is left; each round may uncover the next mistake."""
    files: dict[str, bytes | None] = {}
    before: dict[str, Source] = {}
    moved: dict[str, str] = {}
    site, problems = check_folder(folder, environment)
    for _ in range(_MAX_ROUNDS):
        repairs = _by_source(problems)
        if not repairs:
            break
        tried = {**files, **_apply(repairs)}
        tried_site, after = check_folder(Memory(tried, folder), environment)
        if _errors(after) > _errors(problems) and not _errors(problems):
            break
        _remember(repairs, before, moved)
        site, files, problems = tried_site, tried, after
    now = {source.name: source for source in site.sources}
    kept = {name: now[name] for name, old in before.items() if name in moved or now[name].text != old.text}
    return Repaired(before, kept, moved, tuple(problems))


def _errors(problems: Iterable[Problem]) -> int:
    return sum(problem.severity is Severity.ERROR for problem in problems)


def _bytes(source: Source) -> bytes:
    return source.text.encode("utf-8-sig" if source.marked else "utf-8")


def _apply(repairs: Mapping[Source, Sequence[Repair]]) -> dict[str, bytes | None]:
    """The files that these repairs change, with their new content."""
    files: dict[str, bytes | None] = {}
    for source, mine in repairs.items():
        text = apply_edits(source.text, [each for each in mine if isinstance(each, Edit)])
        move = _move_of(mine)
        if move is not None:
            files[source.name] = None
        files[move.name if move else source.name] = _bytes(replace(source, text=text))
    return files


def _move_of(repairs: Iterable[Repair]) -> Move | None:
    return next((each for each in repairs if isinstance(each, Move)), None)


def _remember(
    repairs: Mapping[Source, Sequence[Repair]], before: dict[str, Source], moved: dict[str, str]
) -> None:
    """Note what files were before the first round that changes them."""
    for source, mine in repairs.items():
        move = _move_of(mine)
        old = before.pop(source.name, source) if move else source
        name = move.name if move else source.name
        before.setdefault(name, old)
        if move is not None:
            moved[name] = source.name


def _by_source(problems: Iterable[Problem]) -> dict[Source, list[Repair]]:
    """Repairs by the file that they change. A repair of several edits is taken whole or not at all."""
    taken: dict[Source, _Taken] = {}
    for problem in problems:
        for source in {each.source for each in problem.edits}:
            mine = [each for each in problem.edits if each.source is source]
            taken.setdefault(source, _Taken()).take(mine)
    return {source: each.repairs for source, each in taken.items()}


class _Taken:
    """Repairs of one file that do not get in each other's way."""

    def __init__(self) -> None:
        self.repairs: list[Repair] = []
        self._spans: list[tuple[int, int]] = []

    def take(self, repairs: Sequence[Repair]) -> None:
        """Take them all, unless one of them touches a place that is taken."""
        spans = [(each.start, each.end) for each in repairs if isinstance(each, Edit)]
        if any(self._touches(span) for span in spans) or (_move_of(repairs) and _move_of(self.repairs)):
            return
        self.repairs += repairs
        for span in spans:
            insort(self._spans, span)

    def _touches(self, span: tuple[int, int]) -> bool:
        index = bisect_left(self._spans, span)
        return any(_overlap(span, near) for near in self._spans[max(index - 1, 0) : index + 1])


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two edits change the same characters; an insertion also must not touch its neighbour."""
    if one[0] == one[1] or other[0] == other[1]:
        return one[0] <= other[1] and other[0] <= one[1]
    return one[0] < other[1] and other[0] < one[1]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """A text with non-overlapping edits applied."""
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda each: each.start):
        parts += (text[done : edit.start], edit.text)
        done = edit.end
    return "".join((*parts, text[done:]))


def render_diff(repaired: Repaired) -> str:
    """What changes, as a unified diff without secrets."""
    parts: list[str] = []
    for name, after in repaired.after.items():
        before = repaired.before[name]
        old = _lines(before.text)
        if name in repaired.moved:
            parts += [f"rename from {repaired.moved[name]}", f"rename to {name}"]
        parts += difflib.unified_diff(
            _shown(before, ()), _shown(after, old), repaired.moved.get(name, name), name, lineterm=""
        )
    return "\n".join(parts)


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _shown(source: Source, known: Iterable[str]) -> list[str]:
    """The lines of a file with secrets masked; a masked line that is new is marked, to show in the diff."""
    masked = masked_lines(source.text, source.secrets)
    old = set(known)
    return [
        line if number not in masked else masked[number] + (" (changed)" if old and line not in old else "")
        for number, line in enumerate(_lines(source.text), start=1)
    ]
