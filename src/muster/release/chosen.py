# SPDX-License-Identifier: Apache-2.0
"""Add-ons that were chosen, against what a release has: unknown, missing, and exclusive ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from muster.errors import UserError
from muster.frozen import dataclass


class Offered(Protocol):
    """An add-on, in a release or in its description."""

    @property
    def id(self) -> str: ...

    @property
    def dependencies(self) -> tuple[str, ...]: ...

    @property
    def conflicts(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Fault:
    """Something that does not hold, and what to do."""

    what: str
    hint: str


def chosen_faults(offers: Sequence[Offered], ids: tuple[str, ...]) -> Iterator[Fault]:
    """All that is wrong with a choice."""
    known = {each.id: each for each in offers}
    for id in ids:
        if id not in known:
            there = ", ".join(known) or "none"
            yield Fault(
                f"the release has no add-on {id}", f"it has {there}; `muster release build --add-on {id}`"
            )
            continue
        for other in known[id].dependencies:
            if other not in ids:
                yield Fault(f"the add-on {id} needs {other}", f"add {other}, or leave {id} out")
        for other in known[id].conflicts:
            if other in ids:
                yield Fault(f"the add-ons {id} and {other} exclude each other", "leave one of them out")


def check_chosen(offers: Sequence[Offered], ids: tuple[str, ...], file: str) -> None:
    """A UserError with the first thing that is wrong with the choice of a site."""
    for fault in chosen_faults(offers, ids):
        raise UserError(f"{file}: {fault.what}", hint=fault.hint)
