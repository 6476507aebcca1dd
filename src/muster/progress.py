# SPDX-License-Identifier: Apache-2.0
"""How long work tells how far it is; who shows it, and where, is not its matter.

    with progress.bar("copying the base image", total=size_bytes) as advance:
        advance(len(chunk))

``cli/progress.py`` is the one that people see.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol, TypeAlias

Advance: TypeAlias = Callable[[int], None]
"""Tells that so many more bytes or items are done."""


def by_total(advance: Advance) -> Callable[[int], None]:
    """For work that tells how far it is altogether."""
    told = 0

    def tell(done: int) -> None:
        nonlocal told
        advance(done - told)
        told = done

    return tell


class Progress(Protocol):
    """Shows how far some work is."""

    def bar(
        self, label: str, *, total: int | None = None, unit: str = "B", done: int = 0
    ) -> AbstractContextManager[Advance]:
        """Show one piece of work until the context ends; ``done`` of it was done before."""


class _Silent:
    """Shows nothing."""

    def bar(
        self,
        label: str,  # noqa: ARG002
        *,
        total: int | None = None,  # noqa: ARG002
        unit: str = "B",  # noqa: ARG002
        done: int = 0,  # noqa: ARG002
    ) -> AbstractContextManager[Advance]:
        return nullcontext(_ignore)


def _ignore(_count: int) -> None:
    pass


SILENT: Final[Progress] = _Silent()
