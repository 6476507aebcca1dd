# SPDX-License-Identifier: Apache-2.0
"""What all views do: copy fields that are the same on both sides, and put JSON into strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, Final

import msgspec

from muster.model.wire.struct import Wire
from muster.service.state import State, Verdict
from muster.service.validations.registry import Validation

PREFIX: Final = "/api/assisted-install/v2"
_encoder: Final = msgspec.json.Encoder()


def json_text(value: Any) -> str:
    """JSON for a field that is a string."""
    return _encoder.encode(value).decode()


def json_or_none(value: Any) -> str | None:
    """JSON for a field that is a string, if there is anything to say."""
    return _encoder.encode(value).decode() if value else None


def copier(source: type[State], target: type[Wire], *others: str) -> Callable[[Any], dict[str, Any]]:
    """A function that copies the fields that both sides have; the others are not its business.

    What is empty is left out, so that it does not appear in the answer.
    """
    theirs = {each.name for each in msgspec.structs.fields(target)}
    names = [
        each.name
        for each in msgspec.structs.fields(source)
        if each.name in theirs and each.name not in others
    ]
    read = attrgetter(*names)

    def copy(state: Any) -> dict[str, Any]:
        return {
            name: value
            for name, value in zip(names, read(state), strict=True)
            if value is not None and value != "" and value != ()
        }

    return copy


def show_verdicts(verdicts: Iterable[Verdict], known: Mapping[str, Validation]) -> str | None:
    """What the checks say, by category; one that nobody declared was brought by an operator."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.status != "suppressed":
            validation = known.get(verdict.id)
            category = "operators" if validation is None else validation.category
            found.setdefault(category, []).append(verdict)
    return json_or_none(found)
