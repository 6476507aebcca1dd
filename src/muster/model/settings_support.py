# SPDX-License-Identifier: Apache-2.0
"""Which settings a release honours: one table for `muster check`, the service and the docs.

The rows are data (``settings_support.toml``). A row names fields of a file or of an object of the interface,
and says for each kind of release what becomes of them. A setting that is refused or noted is reported when it
is asked for; the row lists the values that ask for nothing, such as ``networkType: OVNKubernetes``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final

from muster.frozen import dataclass
from muster.model.release import KUBERNETES, OPENSHIFT

KINDS: Final = (KUBERNETES, OPENSHIFT)
"""The kinds of releases."""
MACHINE_CONFIGS: Final = "machineconfiguration.openshift.io/"
"""The API group of manifests that ask for settings of hosts, such as encrypted disks."""
HOST_SETTINGS_REASON: Final = (
    "nothing in a release of Kubernetes applies a MachineConfig;"
    " disks, files and kernel arguments stay as they are"
)
HOST_SETTINGS_FIX: Final = "remove it"
INSTALL_CONFIG_OVERRIDES: Final = "install-config-overrides"
"""The document about what the interface takes to be merged into the install-config of a cluster."""
IGNITION_OVERRIDE: Final = "ignition-override"
"""The document about Ignition configs that users add to those of media and hosts."""


class Support(StrEnum):
    """What becomes of a setting."""

    HONOURED = "honoured"
    """It is done."""
    PASSED_ON = "passed on"
    """It is written to the medium for the release's own installer; Muster itself does nothing with it."""
    DESCRIPTIVE = "descriptive"
    """It describes something for people and other tools, and asks for nothing."""
    NOTED = "noted"
    """It is accepted and shown, has no effect, and a warning says so."""
    REFUSED = "refused"
    """It is an error to ask for it."""


@dataclass(frozen=True)
class Setting:
    """A field, or a part with all its fields, of one document."""

    document: str
    path: str
    covers_below: bool
    support: Mapping[str, Support]
    """By kind of release. The service installs only releases of kind kubernetes."""
    reason: str = ""
    """Why it is not done, or what holds instead."""
    fix: str = ""
    switch: str = ""
    """The field below it that asks for it; without one, the field itself does."""
    harmless: tuple[Any, ...] = ()
    """Values that ask for nothing."""
    rule: str = ""
    """The slug of the rule that reports it, where that is one of its own."""

    def covers(self, path: str) -> bool:
        """Whether a field is described by this row."""
        return path == self.path or (self.covers_below and path.startswith(f"{self.path}."))

    def asks(self, value: object) -> bool:
        """Whether a value of the field, or of its switch, asks for something."""
        return value not in (None, False, "", (), {}, *self.harmless)


def asks_for_host_settings(manifest: object, kind: str) -> bool:
    """Whether a manifest, or an item of a list, asks for settings of hosts that a kind of release ignores."""
    if kind != KUBERNETES:
        return False
    waiting, seen = [manifest], set[int]()
    while waiting:
        found = waiting.pop()
        # An alias stands for the same object, however often.
        if not isinstance(found, Mapping) or id(found) in seen:
            continue
        seen.add(id(found))
        version, items = found.get("apiVersion"), found.get("items")
        if isinstance(version, str) and is_machine_config(version):
            return True
        if isinstance(items, list):
            waiting += items
    return False


def is_machine_config(version: str) -> bool:
    """Whether an apiVersion is that of settings of hosts; blanks around it do not count."""
    return version.strip().startswith(MACHINE_CONFIGS)


@cache
def settings(document: str) -> tuple[Setting, ...]:
    """All rows of a document, in the order of the table."""
    return _table().get(document, ())


@cache
def reported(document: str, kind: str) -> tuple[Setting, ...]:
    """The refused and noted settings of a document that no rule of their own reports."""
    wanted = (Support.REFUSED, Support.NOTED)
    return tuple(row for row in settings(document) if row.support.get(kind) in wanted and not row.rule)


@cache
def find_setting(document: str, path: str) -> Setting | None:
    """The row that describes a field: its own, else the nearest above that covers it."""
    found = [row for row in settings(document) if row.covers(path)]
    return max(found, key=lambda row: len(row.path), default=None)


def asked_settings(document: str, kind: str, support: Support, given: Any) -> Iterator[Setting]:
    """The rows of one support that data asks for: a struct, or what JSON makes."""
    for row in settings(document):
        if row.support.get(kind) is support:
            path = [*row.path.split("."), *filter(None, row.switch.split("."))]
            if any(row.asks(value) for value in _values(given, path)):
                yield row


def _values(given: Any, path: list[str]) -> Iterator[Any]:
    """All values at a path, through objects and lists."""
    if isinstance(given, list | tuple):
        for each in given:
            yield from _values(each, path)
    elif not path:
        yield given
    elif isinstance(given, Mapping):
        yield from _values(given.get(path[0]), path[1:])
    elif path[0] in getattr(given, "__struct_fields__", ()):
        yield from _values(getattr(given, path[0]), path[1:])


def documents() -> tuple[str, ...]:
    """The documents of the table."""
    return tuple(_table())


@cache
def _table() -> Mapping[str, tuple[Setting, ...]]:
    text = (files("muster.model") / "settings_support.toml").read_text("utf-8")
    found: dict[str, list[Setting]] = {}
    for row in tomllib.loads(text)["setting"]:
        for setting in _rows(row):
            found.setdefault(setting.document, []).append(setting)
    return {document: tuple(rows) for document, rows in found.items()}


def _rows(row: Mapping[str, Any]) -> Iterator[Setting]:
    support = {kind: Support(row[kind]) for kind in KINDS if kind in row}
    for document in row["in"]:
        for field in row["fields"]:
            yield Setting(
                document=document,
                path=field.removesuffix(".*"),
                covers_below=field.endswith(".*"),
                support=support,
                reason=row.get("reason", ""),
                fix=row.get("fix", ""),
                switch=row.get("switch", ""),
                harmless=tuple(row.get("harmless", ())),
                rule=row.get("rule", ""),
            )
