# SPDX-License-Identifier: Apache-2.0
"""What a collector hands over: what it has found out, and what it could not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.extras import Extras
from muster.model.wire.inventory import Inventory

NOTHING: Final = Inventory()
NO_EXTRAS: Final = Extras()


@dataclass(frozen=True)
class Found:
    """A part of an inventory; the rest of it is not set."""

    inventory: Inventory = NOTHING
    extras: Extras = NO_EXTRAS
    troubles: tuple[str, ...] = ()
    """What could not be found out, one sentence each; the part is what is known without."""


Collect = Callable[[Machine], Awaitable[Found]]


class CannotTell(Exception):
    """Nothing can be said of a part of the machine; the text says why, in one sentence."""
