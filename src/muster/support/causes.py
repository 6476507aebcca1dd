# SPDX-License-Identifier: Apache-2.0
"""What most probably went wrong: files of a bundle → causes, the most probable first, with where it is seen.

Three tell: the service what it waits for, the programs of a host why they cannot go on, and the logs, which
are searched for what causes.toml has. The first two are told in their own words.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Final, TypeAlias, TypeVar

import msgspec

from muster.board import Notice
from muster.client.snapshot import OURS, Reason, Why
from muster.frozen import dataclass
from muster.model.wire.files import Event

Files: TypeAlias = Mapping[str, Sequence[str]]
"""Lines by the name of the file in the bundle."""
LIKELY: Final = 50
"""Causes that weigh less are mentioned, but are not taken for the reason."""
_OF_BOARD: Final = 82
_OF_SERVICE: Final = 79
_OVERDUE: Final = 66
_OF_EVENT: Final = 54
_SHOWN: Final = 3
T = TypeVar("T")
_WIDTH: Final = 300
_HOST: Final = re.compile(r"(?:hosts|service/logs|lab)/([^/]+)/(.+)")
_BOARDS: Final = "run/muster/*.json"
_EVENTS: Final = "service/events.jsonl"
WHY: Final = "service/why*.json"


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that is known to go wrong."""

    weight: int
    files: tuple[str, ...]
    pattern: str
    message: str
    why: str
    fix: str
    proof: str
    least: int = 1
    everywhere: bool = False
    unless: str = ""


@dataclass(frozen=True)
class Evidence:
    """A line that shows something."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Cause:
    """Something that keeps hosts from becoming a cluster."""

    id: str
    weight: int
    message: str
    why: str = ""
    fix: str = ""
    proof: str = ""
    """A command that shows whether it is so."""
    hosts: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


@cache
def rules() -> Mapping[str, Rule]:
    """What logs are searched for."""
    text = resources.files("muster.support").joinpath("causes.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Rule])


def is_telling(name: str) -> bool:
    """Whether a file is looked at here."""
    inner = split_name(name)[1]
    patterns = {_BOARDS, _EVENTS, WHY}.union(*(each.files for each in rules().values()))
    return any(fnmatchcase(inner, pattern) for pattern in patterns)


def split_name(name: str) -> tuple[str, str]:
    """The host that a file is of, empty when the bundle is of one alone, and its name there."""
    match = _HOST.fullmatch(name)
    return (match[1], match[2]) if match else ("", name)


def find_causes(files: Files) -> tuple[Cause, ...]:
    """What went wrong, the most probable first; hosts with the same trouble are told of together."""
    found = [*_of_boards(files), *_of_service(files), *_of_logs(files)]
    known = " ".join(each.message for each in found)
    found += [each for each in _of_events(files) if each.message not in known]
    joined: dict[tuple[str, str], Cause] = {}
    for each in found:
        key = (each.id, each.message)
        joined[key] = _join(joined[key], each) if key in joined else each
    return tuple(sorted(joined.values(), key=lambda each: (-each.weight, -len(each.hosts), each.id)))


def _join(one: Cause, other: Cause) -> Cause:
    hosts = tuple(dict.fromkeys((*one.hosts, *other.hosts)))
    return replace(one, hosts=hosts, evidence=(*one.evidence, *other.evidence)[: 2 * _SHOWN])


def _of_boards(files: Files) -> Iterator[Cause]:
    """What the programs of hosts say of themselves."""
    for name, lines in files.items():
        host, inner = split_name(name)
        notice = _read(lines, Notice) if fnmatchcase(inner, _BOARDS) else None
        if notice is None or not notice.trouble:
            continue
        program = inner.rpartition("/")[2].removesuffix(".json")
        yield Cause(
            id=f"{program}-stuck",
            weight=_OF_BOARD,
            message=f"{notice.doing}: {notice.trouble}" if notice.doing else notice.trouble,
            fix=notice.fix,
            proof=f"journalctl --unit muster-{program}",
            hosts=(host,) if host else (),
            evidence=(_see(name, lines, "trouble"),),
        )


def _of_service(files: Files) -> Iterator[Cause]:
    """What the service says that somebody has to mend, or takes too long."""
    for name, lines in files.items():
        is_why = fnmatchcase(split_name(name)[1], WHY)
        why = _read(lines, Why) if is_why else None
        for reason in why.reasons if why is not None else ():
            if reason.who in OURS or reason.overdue:
                yield _of_reason(name, lines, reason)


def _of_reason(name: str, lines: Sequence[str], reason: Reason) -> Cause:
    late = ", and it takes longer than it should" if reason.overdue else ""
    return Cause(
        id=reason.id,
        weight=_OF_SERVICE if reason.who in OURS else _OVERDUE,
        message=reason.message + late,
        why=reason.why,
        fix=reason.fix,
        proof=reason.proof,
        hosts=tuple(each.name or each.id for each in reason.hosts),
        evidence=(_see(name, lines, reason.message[:40]),),
    )


def _of_events(files: Files) -> Iterator[Cause]:
    """The last thing that failed, as the service has told it."""
    logs = ((name, lines) for name, lines in files.items() if split_name(name)[1] == _EVENTS)
    name, lines = next(logs, ("", ()))
    for number, line in reversed(tuple(enumerate(lines, start=1))):
        event = _read((line,), Event)
        if event is not None and event.severity in ("error", "critical"):
            yield Cause(
                id=event.name or "event",
                weight=_OF_EVENT,
                message=event.message,
                fix="see what came before it in the event log",
                proof="muster events list --severity error",
                evidence=(Evidence(name, number, line[:_WIDTH]),),
            )
            return


def _of_logs(files: Files) -> Iterator[Cause]:
    """What the lines of logs look like."""
    hosts = {split_name(name)[0] for name in files} - {""}
    for id, rule in rules().items():
        if rule.unless and any(fnmatchcase(split_name(name)[1], rule.unless) for name in files):
            continue
        found = [*_search(id, rule, files)]
        concerned = {host for each in found for host in each.hosts}
        if not rule.everywhere or (len(concerned) > 1 and concerned >= _saying(rule, files, hosts)):
            yield from found


def _saying(rule: Rule, files: Files, hosts: Iterable[str]) -> set[str]:
    """The hosts that say something about it, one way or the other."""
    split = [split_name(name) for name in files]
    return {host for host in hosts if any(of == host and _is_of(rule, inner) for of, inner in split)}


def _is_of(rule: Rule, inner: str) -> bool:
    return any(fnmatchcase(inner, pattern) for pattern in rule.files)


def _search(id: str, rule: Rule, files: Files) -> Iterator[Cause]:
    """A cause for each host, or for each thing on it that the lines name."""
    pattern = re.compile(rule.pattern)
    seen: dict[tuple[str, str], list[Evidence]] = {}
    words: dict[tuple[str, str], Mapping[str, str]] = {}
    for name, lines in files.items():
        host, inner = split_name(name)
        for number, line in enumerate(lines if _is_of(rule, inner) else (), start=1):
            if (match := pattern.search(line)) is not None:
                groups = {group: text or "something" for group, text in match.groupdict().items()}
                key = (host, _fill(rule.message, groups))
                words.setdefault(key, groups)
                seen.setdefault(key, []).append(Evidence(name, number, line.strip()[:_WIDTH]))
    for (host, message), lines_seen in seen.items():
        if len(lines_seen) >= rule.least:
            yield Cause(
                id=id,
                weight=rule.weight,
                message=message,
                why=rule.why,
                fix=_fill(rule.fix, words[host, message]),
                proof=_fill(rule.proof, words[host, message]),
                hosts=(host,) if host else (),
                evidence=tuple(lines_seen[:1] + lines_seen[1:][1 - _SHOWN :]),
            )


def _fill(sentence: str, words: Mapping[str, str]) -> str:
    for name, text in words.items():
        sentence = sentence.replace(f"{{{name}}}", text)
    return sentence


def _see(name: str, lines: Sequence[str], words: str) -> Evidence:
    """The line that has something in it, or the first."""
    number = next((at for at, line in enumerate(lines, start=1) if words in line), 1)
    return Evidence(name, number, lines[number - 1].strip()[:_WIDTH] if lines else "")


def _read(lines: Sequence[str], kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode("\n".join(lines), type=kind)
    except msgspec.DecodeError:
        return None
