# SPDX-License-Identifier: Apache-2.0
"""Settings that the release of a cluster would ignore: refused, or reported by an event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from muster.model.settings_support import Setting, Support, settings
from muster.service.decisions import checks
from muster.service.realm import Draft
from muster.service.refusals import BadRequest
from muster.service.state import Subject

_INSTALL_CONFIG: Final = "install-config"


def refuse_settings(params: msgspec.Struct, kind: str) -> None:
    """Refuse what is asked for and would not be done by a kind of release."""
    for row in _asked(kind, type(params).__name__, params, Support.REFUSED):
        raise _refusal(row, row.fix)


def _refusal(row: Setting, fix: str) -> BadRequest:
    return checks.refuse(row.path, f"not done by a release of Kubernetes; {row.reason}", fix)


def refuse_overrides(overrides: Mapping[str, Any], kind: str) -> None:
    """The same for what is merged into the install-config of a cluster."""
    for row in _asked(kind, _INSTALL_CONFIG, overrides, Support.REFUSED):
        raise _refusal(row, f"leave {row.path} out of the override")


def tell_without_effect(draft: Draft, subject: Subject, given: Any, kind: str, document: str = "") -> None:
    """Report what is kept and shown, but has no effect: one event for all of it."""
    found: dict[str, list[str]] = {}
    for row in _asked(kind, document or type(given).__name__, given, Support.NOTED):
        found.setdefault(row.reason, []).append(row.path)
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


def _asked(kind: str, document: str, given: Any, support: Support) -> Iterator[Setting]:
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
    elif isinstance(given, msgspec.Struct):
        yield from _values(getattr(given, path[0]), path[1:])
