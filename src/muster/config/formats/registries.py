# SPDX-License-Identifier: Apache-2.0
"""registries.conf: TOML → model, judged as the container tools of the hosts would."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from muster.config.formats.images import repaired_repository, repository_fault
from muster.config.spelling import closest
from muster.frozen import dataclass
from muster.model.problem import Edit, Place, Problem, problem
from muster.model.registries import Mirror, PullFromMirror, RegistriesConf, Registry
from muster.model.tree import Source

_TOP_KEYS: Final[Mapping[str, type]] = {
    "registry": list,
    "unqualified-search-registries": list,
    "credential-helpers": list,
    "short-name-mode": str,
    "additional-layer-store-auth-helper": str,
    "aliases": dict,
}
_REGISTRY_KEYS: Final[Mapping[str, type]] = {
    "prefix": str,
    "location": str,
    "insecure": bool,
    "blocked": bool,
    "mirror-by-digest-only": bool,
    "mirror": list,
}
_MIRROR_KEYS: Final[Mapping[str, type]] = {"location": str, "insecure": bool, "pull-from-mirror": str}
_KIND_NAMES: Final[Mapping[type, str]] = {
    list: "a list",
    dict: "a table",
    str: "a text in quotes",
    bool: "true or false",
}
_HEADER: Final = re.compile(r"\s*\[\[?\s*(?P<name>[^\]]*?)\s*\]\]?")
_KEY: Final = re.compile(r"\s*(?P<key>[\w-]+|\"[^\"\n]*\"|'[^'\n]*')\s*=[ \t]*(?P<value>[^\n#]*)")
_WHERE: Final = re.compile(
    r"(?P<what>.*?)\s*\(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL
)


def parse_registries(source: Source) -> tuple[RegistriesConf | None, list[Problem]]:
    """The mirrors of a file, and what is wrong with it; None when it is not TOML."""
    try:
        data = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        return None, [_syntax_problem(source, error)]
    except RecursionError:
        return None, [problem("toml-syntax", Place(source), what="its values are nested too deeply")]
    reader = _Reader(source)
    return reader.read(data), reader.problems


def find_place(source: Source, text: str) -> Place:
    """Where a text stands in a file; the file itself when it is written in another way."""
    for quoted in (json.dumps(text, ensure_ascii=False), f"'{text}'"):
        found = source.text.find(quoted)
        if found >= 0:
            return Place(source, found, found + len(quoted))
    return Place(source)


def _syntax_problem(source: Source, error: tomllib.TOMLDecodeError) -> Problem:
    match = _WHERE.match(str(error))
    what = match["what"] if match else str(error)
    index = max(len(source.text.rstrip()) - 1, 0)
    if match and match["line"]:
        line = min(int(match["line"]), len(source.line_starts))
        index = min(source.line_starts[line - 1] + int(match["column"]) - 1, len(source.text))
    return problem("toml-syntax", Place(source, index, index + 1), what=what[:1].lower() + what[1:])


@dataclass(frozen=True)
class _Table:
    """A table of the file: where it begins, and where its keys and their values stand."""

    place: Place
    keys: dict[str, tuple[Place, Place]] = field(default_factory=dict)

    def key(self, name: str) -> Place:
        """The place of a key, or of the table when it is written in another way."""
        return self.keys[name][0] if name in self.keys else self.place

    def value(self, name: str) -> Place:
        """The place of a value, or of the table when it is written in another way."""
        return self.keys[name][1] if name in self.keys else self.place


class _Places:
    """Where the tables of a file stand; the TOML parser does not say."""

    def __init__(self, source: Source) -> None:
        self.top = _Table(Place(source))
        self._source = source
        self._registries: list[tuple[_Table, list[_Table]]] = []
        current = self.top
        for number, start in enumerate(source.line_starts, start=1):
            line = source.line(number)
            header = _HEADER.match(line)
            if header is not None:
                current = self._open(header, start)
            elif (entry := _KEY.match(line)) is not None:
                name = entry["key"].strip("\"'")
                value = entry["value"].rstrip()
                places = (
                    _span(source, start, entry, "key"),
                    _span(source, start, entry, "value", len(value)),
                )
                current.keys.setdefault(name, places)

    def _open(self, header: re.Match[str], start: int) -> _Table:
        place = Place(self._source, start + header.start("name"), start + header.end("name"))
        table = _Table(place)
        name = re.sub(r"[\s\"']", "", header["name"])
        if name == "registry":
            self._registries.append((table, []))
        elif name == "registry.mirror" and self._registries:
            self._registries[-1][1].append(table)
        return table

    def registry(self, index: int) -> _Table:
        """A registry's table."""
        return self._registries[index][0] if index < len(self._registries) else self.top

    def mirror(self, index: int, number: int) -> _Table:
        """The table of a registry's mirror."""
        mirrors = self._registries[index][1] if index < len(self._registries) else []
        return mirrors[number] if number < len(mirrors) else self.registry(index)


def _span(source: Source, start: int, match: re.Match[str], group: str, size: int | None = None) -> Place:
    begin = start + match.start(group)
    return Place(source, begin, begin + size if size is not None else start + match.end(group))


class _Reader:
    """Reads the parsed file, collecting problems on the way."""

    def __init__(self, source: Source) -> None:
        self.problems: list[Problem] = []
        self._places = _Places(source)

    def read(self, data: dict[str, Any]) -> RegistriesConf:
        """All entries that can be read."""
        top = self._checked(data, _TOP_KEYS, self._places.top, "registries.conf")
        search = top.get("unqualified-search-registries", [])
        registries = []
        for index, entry in enumerate(top.get("registry", [])):
            if isinstance(entry, dict):
                registries.append(self._registry(index, entry))
            else:
                self._bad("registry", self._places.top, "a list of tables, each headed [[registry]]")
        return RegistriesConf(tuple(registries), tuple(name for name in search if isinstance(name, str)))

    def _registry(self, index: int, entry: dict[str, Any]) -> Registry:
        table, before = self._places.registry(index), len(self.problems)
        known = self._checked(entry, _REGISTRY_KEYS, table, "[[registry]]")
        location, prefix = known.get("location", ""), known.get("prefix", "")
        wildcard = prefix.startswith("*.")
        if not location and not wildcard and "location" not in entry.keys() - known.keys():
            self.problems.append(problem("registry-without-location", table.place, table="[[registry]]"))
        self._check_name("location", location, table)
        self._check_name("prefix", prefix.removeprefix("*.") if wildcard else prefix, table)
        only = bool(known.get("mirror-by-digest-only", False))
        mirrors: list[Mirror] = []
        for number, each in enumerate(known.get("mirror", [])):
            at = self._places.mirror(index, number)
            if isinstance(each, dict):
                mirrors += self._mirror(each, at, by_digest_only=only)
            else:
                self._bad("mirror", table, "a list of tables, each headed [[registry.mirror]]")
        registry = Registry(
            location=location,
            prefix=prefix,
            insecure=bool(known.get("insecure", False)),
            blocked=bool(known.get("blocked", False)),
            mirror_by_digest_only=only,
            mirrors=tuple(mirrors),
        )
        if registry.is_idle and len(self.problems) == before:
            self.problems.append(problem("no-mirrors", table.value("location"), source=registry.scope))
        return registry

    def _mirror(self, entry: dict[str, Any], table: _Table, *, by_digest_only: bool) -> Iterator[Mirror]:
        known = self._checked(entry, _MIRROR_KEYS, table, "[[registry.mirror]]")
        location = known.get("location", "")
        if not location:
            if "location" not in entry or entry["location"] == "":
                self.problems.append(
                    problem("registry-without-location", table.place, table="[[registry.mirror]]")
                )
            return
        self._check_name("location", location, table)
        choices = [str(option) for option in PullFromMirror]
        chosen = known.get("pull-from-mirror", "") or PullFromMirror.ALL
        if chosen not in choices:
            self._bad("pull-from-mirror", table, "one of " + ", ".join(choices))
            chosen = PullFromMirror.ALL
        elif by_digest_only and "pull-from-mirror" in known:
            self._bad("pull-from-mirror", table, "left out together with mirror-by-digest-only")
        yield Mirror(location, bool(known.get("insecure", False)), PullFromMirror(chosen))

    def _checked(
        self, data: dict[str, Any], keys: Mapping[str, type], table: _Table, where: str
    ) -> dict[str, Any]:
        """The entries whose keys are known and whose values are of the right kind."""
        found = {}
        for key, value in data.items():
            free = [each for each, kind in keys.items() if each not in data and isinstance(value, kind)]
            name = key if key in keys else self._unknown(key, free, table, where)
            if name is None:
                continue
            if isinstance(value, keys[name]):
                found[name] = value
            else:
                self._bad(key, table, _KIND_NAMES[keys[name]])
        return found

    def _unknown(self, key: str, choices: list[str], table: _Table, where: str) -> str | None:
        """Reports a key that is not known; gives the one that was meant."""
        right = closest(key, choices)
        at = table.key(key)
        edits = (Edit(at.source, at.start, at.end, right),) if right and key in table.keys else ()
        hint = f"; did you mean {right}?" if right else ""
        self.problems.append(
            problem("unknown-registries-key", at, edits=edits, key=key, where=where, hint=hint)
        )
        return right

    def _bad(self, key: str, table: _Table, expected: str) -> None:
        self.problems.append(problem("bad-registries-value", table.value(key), key=key, expected=expected))

    def _check_name(self, key: str, name: str, table: _Table) -> None:
        fault = repository_fault(name.rstrip("/")) if name else ""
        if not fault:
            return
        at = table.value(key)
        right = repaired_repository(name)
        known = right is not None and key in table.keys
        edits = (Edit(at.source, at.start, at.end, f'"{right}"'),) if known else ()
        self.problems.append(problem("bad-repository", at, edits=edits, key=key, value=name, reason=fault))
