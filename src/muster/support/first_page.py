# SPDX-License-Identifier: Apache-2.0
"""The first page of a bundle: the most probable cause, and where to read on; the same for programs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, field
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import msgspec

from muster import __version__
from muster.board import Notice
from muster.client.snapshot import Why
from muster.frozen import dataclass
from muster.redact import printable
from muster.support.causes import LIKELY, WHY, Cause, Files, find_causes, is_telling, split_name
from muster.support.room import Kept, Room, write_pieces

PAGE: Final = "00-READ-ME-FIRST.txt"
SUMMARY: Final = "summary.json"
REPORT: Final = "report.txt"
_WIDTH: Final = 100
_SHOWN: Final = 6
_READ_FIRST: Final = (
    *("journal/muster.txt", "journal/warnings.txt", "service/events.txt", "dmesg.txt", "journal/node.txt"),
    *("network/address.txt", "failed-units.txt", "report.txt"),
)


@dataclass(frozen=True)
class About:
    """What a bundle is of."""

    title: str
    made_at: datetime
    asked: tuple[tuple[str, str], ...] = ()
    """Whoever was asked for something, and what came of it."""


@dataclass(frozen=True)
class Findings:
    """What a bundle has, and what it tells."""

    causes: tuple[Cause, ...]
    names: tuple[str, ...]
    doing: tuple[tuple[str, str], ...] = ()
    """What programs were doing, by their names."""
    says: str = ""
    """What the service waits for, in its own words."""
    kept: tuple[Kept, ...] = field(default=())

    @property
    def likely(self) -> Cause | None:
        """What is taken for the reason."""
        return self.causes[0] if self.causes and self.causes[0].weight >= LIKELY else None


def load_findings(folder: Path, kept: Iterable[Kept]) -> Findings:
    """What the files in a folder tell."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    names = tuple(path.relative_to(folder).as_posix() for path in paths)
    files = {name: _load_lines(path) for name, path in zip(names, paths, strict=True) if is_telling(name)}
    return Findings(find_causes(files), names, tuple(_doing(files)), _says(files), tuple(kept))


def _load_lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", errors="replace").split("\n")
    except OSError:
        return []


def _doing(files: Files) -> Iterator[tuple[str, str]]:
    for name, lines in files.items():
        host, inner = split_name(name)
        if fnmatchcase(inner, "run/muster/*.json"):
            try:
                notice = msgspec.json.decode("\n".join(lines), type=Notice)
            except msgspec.DecodeError:
                continue
            program = inner.rpartition("/")[2].removesuffix(".json")
            details = f" ({'; '.join(notice.details)})" if notice.details else ""
            yield f"{host}: {program}" if host else program, f"{notice.doing}{details}"


def _says(files: Files) -> str:
    for name, lines in files.items():
        if fnmatchcase(split_name(name)[1], WHY):
            try:
                return msgspec.json.decode("\n".join(lines), type=Why).summary
            except msgspec.DecodeError:
                continue
    return ""


def write_front(folder: Path, about: About, findings: Findings) -> None:
    """Write the first page, the summary, and what is missing, whether there is room or not."""
    texts = {
        PAGE: render_page(about, findings),
        SUMMARY: json.dumps(summary_of(about, findings), indent=1, ensure_ascii=False) + "\n",
        REPORT: render_report(about.title, findings.kept),
    }
    for name, text in texts.items():
        write_pieces(folder / name, (text,), Room(len(text.encode(errors="replace"))))


def render_page(about: About, findings: Findings) -> str:
    """The page that is read first."""
    likely = findings.likely
    others = [each for each in findings.causes if each is not likely]
    lines = [f"{about.title}, {about.made_at:%Y-%m-%d %H:%M:%S} UTC, by Muster {__version__}", ""]
    if likely is not None:
        lines += ["MOST PROBABLE CAUSE", *_cause_lines(likely)]
    else:
        lines += ["NOTHING STANDS OUT", "  Nothing in this bundle looks like the cause. Read these first:"]
        lines += [f"    {name}" for name in read_first(findings.names)]
    if others:
        lines += ["", "ALSO SEEN"]
        for number, each in enumerate(others[:_SHOWN], start=2 if likely else 1):
            lines += [f"  {number}. {_head(each)}", *_evidence_lines(each, 1)]
        lines += [f"  and {len(others) - _SHOWN} more, in {SUMMARY}"] if len(others) > _SHOWN else []
    lines += _section("WHAT THE SERVICE WAITS FOR", [findings.says] if findings.says else [])
    lines += _section("WHAT WAS BEING DONE", [f"{who}: {what}" for who, what in findings.doing])
    lines += _section("WHO WAS ASKED", [f"{who}: {what}" for who, what in about.asked])
    missed = sum(len(each.missed) for each in findings.kept)
    lines += _section("WHAT IS HERE", [f"{len(findings.names)} files; secrets were taken out of them"])
    lines += [f"  {missed} are missing or cut; {REPORT} says which, and why"] if missed else []
    return printable("\n".join(lines)) + "\n"


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, *(part for line in lines for part in _wrap(line, "  "))] if lines else []


def _head(cause: Cause) -> str:
    hosts = f" ({', '.join(cause.hosts)})" if cause.hosts else ""
    return f"{cause.message}{hosts}"


def _cause_lines(cause: Cause) -> Iterator[str]:
    yield from _wrap(_head(cause), "  ")
    for label, text in (("why", cause.why), ("fix", cause.fix), ("proof", cause.proof)):
        if text:
            yield from _wrap(f"{label}: {text}", "    ")
    yield from _evidence_lines(cause, len(cause.evidence))


def _evidence_lines(cause: Cause, most: int) -> Iterator[str]:
    for each in cause.evidence[:most]:
        yield from _wrap(f"{each.file}:{each.line}: {each.text}", "      ")


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )


def read_first(names: Sequence[str]) -> list[str]:
    """Three files that tell most when nothing else is known."""
    found = [name for wanted in _READ_FIRST for name in names if split_name(name)[1] == wanted]
    return (found or [REPORT])[:3]


def summary_of(about: About, findings: Findings) -> dict[str, Any]:
    """The page for programs."""
    likely = findings.likely
    return {
        "title": about.title,
        "made_at": about.made_at.isoformat(timespec="seconds"),
        "muster": __version__,
        "cause": asdict(likely) if likely is not None else None,
        "causes": [asdict(each) for each in findings.causes],
        "read_first": read_first(findings.names),
        "service": findings.says,
        "asked": [{"who": who, "what": what} for who, what in about.asked],
        "files": list(findings.names),
        "missed": [{"what": what, "why": why} for each in findings.kept for what, why in each.missed],
        "left_out": [name for each in findings.kept for name in each.left_out],
    }


def render_report(title: str, kept: Iterable[Kept]) -> str:
    """What is not in the archive, for whoever looks for it there."""
    kept = tuple(kept)
    missed = [f"  {name}: {why}" for each in kept for name, why in each.missed]
    left_out = [f"  {name}" for each in kept for name in each.left_out]
    lines = [f"{title}, by Muster {__version__}"]
    lines += ["", "Not there, or not as a whole:", *missed] if missed else ["", "Nothing is missing."]
    if left_out:
        lines += ["", "Left out, because secrets may be in it:", *left_out]
    return printable("\n".join(lines)) + "\n"
