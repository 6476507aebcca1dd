# SPDX-License-Identifier: Apache-2.0
"""One site of a fleet: row → check → secrets → ISO → a folder that is there as a whole or not at all."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from muster import __version__
from muster.config.check import is_valid
from muster.config.fleet.check import Checker
from muster.config.fleet.fault import RowError
from muster.config.fleet.table import Table, canonical
from muster.config.fleet.twins import folder_of
from muster.config.fleet.weave import Loom
from muster.config.report import as_json, render_problem
from muster.config.resolve_image_based import resolve_configuration
from muster.config.state import (
    STATE_FILE,
    Record,
    State,
    changed_files,
    foreign_files,
    load_state,
    render_state,
    save_state,
)
from muster.errors import ExternalError, UserError
from muster.files import new_folder, save_file
from muster.image.image_based.media import CONFIG_ISO, build_config_media
from muster.image.kept import find_secrets
from muster.image.keys import Random
from muster.image.secrets import SiteSecrets, check_spec, dump_secrets, make_secrets
from muster.model.catalogue import Severity
from muster.model.problem import Problem
from muster.model.tree import Map, Node

_FOLDER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\Z")


class Status(StrEnum):
    """What became of a row."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True)
class Outcome:
    """What became of a row, and why."""

    line: int
    name: str
    status: Status
    text: str = ""
    """Why it failed, for people."""
    problems: tuple[dict[str, Any], ...] = ()
    """The same for scripts."""
    warnings: tuple[tuple[str, str], ...] = ()
    """The rule of each warning, and its text."""


@dataclass
class Fleet:
    """All that the sites have in common. A worker has one of its own."""

    table: Table
    loom: Loom
    out: Path
    random: Random = os.urandom
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    checker: Checker = field(init=False, repr=False)

    def __post_init__(self) -> None:
        site = self.loom.template.site
        self.checker = Checker(self.loom.template, lenient=bool(site.environment.invoker))

    def make(self, index: int) -> Outcome:
        """Make one site; whatever is wrong with it, the others do not suffer."""
        line, name = self.table.line(index), ""
        try:
            cells = self.table.cells(index)
            trees = self.loom.weave(cells)
            name = folder_of(trees, cells)
            if _FOLDER.match(name):
                return self._make(line, name, trees, cells)
            message = f"{name!r} cannot be the name of a folder"
            return self._failed(line, name, message, "use letters, digits and . _ -, or add a column folder")
        except (RowError, UserError, ExternalError) as error:
            return self._failed(line, name, error.message, error.hint)

    def _make(self, line: int, name: str, trees: Mapping[str, Map], cells: Mapping[str, Node]) -> Outcome:
        directory = self.out / name
        exists = directory.exists()
        state = load_state(directory) if exists else State()
        record = state.media.get(CONFIG_ISO)
        inputs = self._inputs(cells)
        if record is not None and not any(record.changes(directory, inputs)):
            return Outcome(line, name, Status.UNCHANGED)
        site, problems = self.checker.check(trees)
        if not is_valid(problems):
            return self._invalid(line, name, problems)
        plan = resolve_configuration(site)
        secrets = find_secrets(state, directory) or make_secrets(self.random, self.clock(), plan.signer_key)
        check_spec(secrets, plan.signer_key, str(directory))
        files = build_config_media(plan, secrets)
        if exists:
            status = self._update(directory, state, files, secrets, inputs)
        else:
            with new_folder(directory) as fresh:
                for each, data in files.items():
                    fresh.add(each, data, mode=0o600)
                made = State(secrets=dump_secrets(secrets)).with_medium(
                    CONFIG_ISO, Record.of(fresh.path, inputs, files)
                )
                fresh.add(STATE_FILE, render_state(made), mode=0o600)
            status = Status.CREATED
        warnings = tuple((each.rule.id, render_problem(each)) for each in problems)
        return Outcome(line, name, status, warnings=warnings)

    def _inputs(self, cells: Mapping[str, Node]) -> dict[str, str]:
        return {
            "the template": self.loom.template.digest,
            "the row": hashlib.sha256(canonical(cells).encode()).hexdigest(),
            "the version of Muster": __version__,
        }

    def _update(
        self,
        directory: Path,
        state: State,
        files: dict[str, bytes],
        secrets: SiteSecrets,
        inputs: dict[str, str],
    ) -> Status:
        """Bring a folder that is there up to date, if it is ours."""
        record = state.media.get(CONFIG_ISO)
        foreign = foreign_files(directory, record, files)
        if foreign:
            names = ", ".join(str(directory / each) for each in foreign)
            raise RowError(
                f"not written by Muster, or changed since: {names}",
                "move them away, or choose another place with --out",
            )
        kept = replace(state, secrets=dump_secrets(secrets))
        if kept != state:
            save_state(directory, kept)
        changed = changed_files(directory, files)
        for each in changed:
            save_file(directory / each, files[each], mode=0o600)
        save_state(directory, kept.with_medium(CONFIG_ISO, Record.of(directory, inputs, files)))
        return Status.UPDATED if changed else Status.UNCHANGED

    def _invalid(self, line: int, name: str, problems: list[Problem]) -> Outcome:
        errors = [each for each in problems if each.severity is Severity.ERROR]
        text = "\n".join(render_problem(each) for each in errors)
        return Outcome(line, name, Status.FAILED, text, tuple(as_json(each) for each in errors))

    def _failed(self, line: int, name: str, message: str, hint: str) -> Outcome:
        text = f"{self.table.name}:{line}: {message}\n      fix: {hint}"
        body = {"file": self.table.name, "line": line, "message": message, "fix": hint}
        return Outcome(line, name, Status.FAILED, text, (body,))
