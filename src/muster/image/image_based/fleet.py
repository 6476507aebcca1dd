# SPDX-License-Identifier: Apache-2.0
"""One site of a fleet: row → check → secrets → ISO → a folder that is there as a whole or not at all."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
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
from muster.config.load import lenience
from muster.config.report import as_json, render_problem
from muster.config.resolve_image_based import resolve_configuration
from muster.config.state import STATE_FILE, Record, State, render_state
from muster.errors import ExternalError, UserError
from muster.folders import Batch, put_files, start_batch
from muster.frozen import dataclass
from muster.image.image_based.media import CONFIG_ISO, build_config_media
from muster.image.making import Making, start_making
from muster.image.manner import Manner
from muster.image.secrets import SiteSecrets, dump_secrets
from muster.model.catalogue import Severity
from muster.model.install_config import InstallConfig
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


@dataclass(frozen=True)
class Order:
    """What a row asks for, and the folders that appear together with its own."""

    trees: Mapping[str, Map]
    cells: Mapping[str, Node]
    batch: Batch


@dataclass
class Fleet:
    """All that the sites have in common. A worker has one of its own."""

    table: Table
    loom: Loom
    out: Path
    manner: Manner = field(default_factory=Manner)
    checker: Checker = field(init=False, repr=False)

    def __post_init__(self) -> None:
        template = self.loom.template
        self.checker = Checker(template, lenience(InstallConfig, template.site.environment))

    def make(self, rows: Iterable[int]) -> list[Outcome]:
        """Make some sites; whatever is wrong with one, the others do not suffer."""
        with start_batch(self.out) as batch:
            return [self._try(index, batch) for index in rows]

    def _try(self, index: int, batch: Batch) -> Outcome:
        line, name = self.table.line(index), ""
        try:
            cells = self.table.cells(index)
            trees = self.loom.weave(cells)
            name = folder_of(trees, cells)
            if _FOLDER.match(name):
                return self._make(line, name, Order(trees, cells, batch))
            message = f"{name!r} cannot be the name of a folder"
            return self._failed(line, name, message, "use letters, digits and . _ -, or add a column folder")
        except (RowError, UserError, ExternalError) as error:
            return self._failed(line, name, error.message, error.hint)

    def _make(self, line: int, name: str, order: Order) -> Outcome:
        directory = self.out / name
        if not directory.exists():
            fresh = Making(directory, CONFIG_ISO, self.manner, State())
            return self._settle(line, fresh, order, exists=False)
        with start_making(directory, CONFIG_ISO, self.manner) as making:
            return self._settle(line, making, order, exists=True)

    def _settle(self, line: int, making: Making, order: Order, *, exists: bool) -> Outcome:
        """Make what is not there as the row asks for; a folder that exists is locked by now."""
        name = making.directory.name
        if making.is_current(self._inputs(order.cells)):
            return Outcome(line, name, Status.UNCHANGED)
        site, problems = self.checker.check(order.trees)
        if not is_valid(problems):
            return self._invalid(line, name, problems)
        plan = resolve_configuration(site)
        secrets = making.settle_secrets(plan.signer_key)
        files = build_config_media(plan, secrets)
        status = _update(making, secrets, files) if exists else _create(order.batch, making, secrets, files)
        warnings = tuple((each.rule.id, render_problem(each)) for each in problems)
        return Outcome(line, name, status, warnings=warnings)

    def _inputs(self, cells: Mapping[str, Node]) -> dict[str, str]:
        return {
            "the template": self.loom.template.digest,
            "the row": hashlib.sha256(canonical(cells).encode()).hexdigest(),
            "the version of Muster": __version__,
        }

    def _invalid(self, line: int, name: str, problems: list[Problem]) -> Outcome:
        errors = [each for each in problems if each.severity is Severity.ERROR]
        text = "\n".join(render_problem(each) for each in errors)
        return Outcome(line, name, Status.FAILED, text, tuple(as_json(each) for each in errors))

    def _failed(self, line: int, name: str, message: str, hint: str) -> Outcome:
        text = f"{self.table.name}:{line}: {message}\n      fix: {hint}"
        body = {"file": self.table.name, "line": line, "message": message, "fix": hint}
        return Outcome(line, name, Status.FAILED, text, (body,))


def _create(batch: Batch, making: Making, secrets: SiteSecrets, files: Mapping[str, bytes]) -> Status:
    """A folder that is there as a whole or not at all."""
    with batch.new_folder(making.directory.name) as fresh:
        put_files(fresh, files, mode=0o600)
        record = Record.of(fresh, making.inputs, files)
        state = State(secrets=dump_secrets(secrets)).with_medium(making.name, record)
        put_files(fresh, {STATE_FILE: render_state(state)}, mode=0o600)
    return Status.CREATED


def _update(making: Making, secrets: SiteSecrets, files: Mapping[str, bytes]) -> Status:
    """Bring a folder that is there up to date, if what is in it is ours."""
    making.begin(secrets, tuple(files))
    for name, data in files.items():
        making.save(name, data)
    making.finish()
    return Status.UPDATED if making.written else Status.UNCHANGED
