# SPDX-License-Identifier: Apache-2.0
"""The steps of a schema from one version to the next, as files beside this one have them."""

from __future__ import annotations

from importlib import resources
from typing import Final, Literal

from muster.errors import UserError

_MARK: Final = "-- version "


def load_steps(dialect: Literal["sqlite", "postgresql"]) -> tuple[str, ...]:
    """The statements that lead to version 1, to version 2, and so on."""
    text = resources.files("muster.service.store").joinpath(f"{dialect}.sql").read_text("utf-8")
    return tuple(part.split("\n", 1)[1] for part in text.split(_MARK)[1:])


def next_steps(steps: tuple[str, ...], version: int, place: str) -> list[tuple[int, str]]:
    """What is missing since a version, each step with the version that it makes."""
    if version > len(steps):
        raise UserError(
            f"{place} was written by a newer Muster (schema {version}; this one knows {len(steps)})",
            hint="start it with the newer Muster, or from a copy of before",
        )
    return list(enumerate(steps[version:], version + 1))
