# SPDX-License-Identifier: Apache-2.0
"""Settings that the release of a cluster would ignore: refused, or reported by an event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from muster.config.formats.ignition import refused_parts
from muster.config.spelling import closest
from muster.frozen import dataclass
from muster.model.install_config import InstallConfig
from muster.model.release import KUBERNETES
from muster.model.schema import Field, Model, Object, fields_of
from muster.model.settings_support import (
    INSTALL_CONFIG_OVERRIDES,
    Setting,
    Support,
    asked_settings,
    find_setting,
)
from muster.service.decisions import checks
from muster.service.realm import Draft
from muster.service.refusals import BadRequest
from muster.service.state import Subject

_IGNITION: Final = ("config", "ignition_config_override")
"""Fields that hold an Ignition config."""
_LEAVE_OUT: Final = "leave it out"
_LONGEST_PATH: Final = 200


def refuse_settings(params: msgspec.Struct, kind: str) -> None:
    """Refuse what is asked for and would not be done by a kind of release."""
    for row in asked_settings(type(params).__name__, kind, Support.REFUSED, params):
        raise _refusal(row.path, row.reason, row.fix)
    for field in _IGNITION:
        for row in refused_parts(getattr(params, field, None) or "", kind):
            raise _refusal(f"{field}: {row.path}", row.reason, row.fix)


def _refusal(path: str, reason: str, fix: str) -> BadRequest:
    return checks.refuse(path, f"not done by a release of Kubernetes; {reason}", fix)


def tell_without_effect(draft: Draft, subject: Subject, given: msgspec.Struct, kind: str) -> None:
    """Report what is kept and shown, but has no effect: one event for all of it."""
    rows = asked_settings(type(given).__name__, kind, Support.NOTED, given)
    _tell(draft, subject, ((row.path, row.reason) for row in rows))


def tell_overrides_without_effect(
    draft: Draft, subject: Subject, overrides: Mapping[str, Any], kind: str
) -> None:
    """The same for what is merged into the install-config of a cluster."""
    found = [each for each in _judged(overrides, kind) if each.support is Support.NOTED]
    _tell(draft, subject, ((each.path, each.reason) for each in found))


def _tell(draft: Draft, subject: Subject, settings: Iterator[tuple[str, str]]) -> None:
    found: dict[str, list[str]] = {}
    for path, reason in dict.fromkeys(settings):
        found.setdefault(reason, []).append(path)
    if not found:
        return
    words = ", ".join(f"{', '.join(paths)} ({reason})" for reason, paths in found.items())
    draft.tell(
        subject,
        "setting_without_effect",
        f"No effect with a release of Kubernetes: {words}",
        severity="warning",
        settings=[path for paths in found.values() for path in paths],
    )


def refuse_overrides(overrides: Mapping[str, Any], kind: str, platform: str) -> None:
    """Refuse what would be merged into the install-config of a cluster, and done by nothing.

    Hosts get their Ignition config from the fields of the cluster. A setting that has such a field is
    refused, and the field is named; what nothing does is refused or reported as in a file. ``platform`` is
    that of the cluster.
    """
    for each in _judged(overrides, kind):
        if each.support is Support.REFUSED:
            raise _refusal(each.path, each.reason, each.fix)
    section = overrides.get("platform")
    for name in section if isinstance(section, Mapping) and kind == KUBERNETES else ():
        if name.lower() != platform:
            reason = f"the platform of the cluster is {platform}"
            raise _refusal(f"platform.{name}", reason, "set platform of the cluster")


@dataclass(frozen=True)
class _Judged:
    """A field of the install-config that an override sets, and what becomes of it."""

    path: str
    support: Support
    reason: str
    fix: str = _LEAVE_OUT


def _judged(overrides: Mapping[str, Any], kind: str) -> Iterator[_Judged]:
    """What is not done. A BadRequest for a key that install-config.yaml does not have, or another shape."""
    for path, field, value in _overridden(InstallConfig, overrides, ""):
        row = find_setting(INSTALL_CONFIG_OVERRIDES, path)
        if kind != KUBERNETES or not _asks(row, value):
            continue
        if row is not None:
            yield _Judged(row.path, row.support[kind], row.reason, row.fix or _LEAVE_OUT)
        elif field.forbidden:
            yield _Judged(path, Support.REFUSED, field.forbidden)
        elif field.ignored:
            yield _Judged(path, Support.NOTED, field.ignored)


def _asks(row: Setting | None, value: Any) -> bool:
    """Whether a value, or one of a list, asks for something; other than in files, a number always does."""
    harmless = (None, False, "", {}, *(row.harmless if row else ()))
    values = value if isinstance(value, list) else [value]
    return any(type(each) is int or each not in harmless for each in values)


def _overridden(model: type[Model], given: Mapping[str, Any], above: str) -> Iterator[tuple[str, Field, Any]]:
    """The fields that an override sets, each with its path; a field of earlier releases has that of today's.

    As in Go's JSON, upper and lower case of a key are the same.
    """
    known = {key.lower(): field for key, field in fields_of(model).items()}
    for key, value in given.items():
        field = known.get(key.lower())
        if field is None:
            if model.open:
                continue
            right = closest(key[:_LONGEST_PATH], [each.key for each in known.values()])
            path = f"{above}{key}"[:_LONGEST_PATH]
            fix = f"write {above}{right}, or leave it out" if right else _LEAVE_OUT
            raise checks.refuse(path, "install-config.yaml has no such field", fix)
        yield f"{above}{field.replaced_by.replace('[]', '') or field.key}", field, value
        if isinstance(field.kind, Object) and value is not None:
            path = f"{above}{field.key}"
            for each in _objects(path, field, value):
                yield from _overridden(field.kind.model, each, f"{path}.")


def _objects(path: str, field: Field, value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a field: one, those of a list, or those of a table."""
    if field.many and not isinstance(value, list):
        raise checks.refuse(path, "it is not a list", "write a list of objects")
    if field.table and isinstance(value, Mapping):
        value = [*value.values()]
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, Mapping):
            raise checks.refuse(path, "it is not an object", "begin with {")
        yield each
