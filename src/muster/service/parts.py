# SPDX-License-Identifier: Apache-2.0
"""Parts of an inventory, named like fields: most of what follows from an inventory follows from one of them.

changed_parts(before, after)        # {"inventory.memory"}
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

import msgspec

from muster.model.wire.inventory import Inventory

THERE: Final = "inventory.there"
"""Whether there is an inventory at all."""
_NAMES: Final = {each.name: f"inventory.{each.name}" for each in msgspec.structs.fields(Inventory)}
PARTS: Final = frozenset({THERE, *_NAMES.values()})


def changed_parts(before: Inventory | None, after: Inventory | None) -> Set[str]:
    """What is another than before: all of it when there was nothing, or nothing is left."""
    if before is None or after is None:
        return PARTS
    return {part for name, part in _NAMES.items() if getattr(before, name) != getattr(after, name)}
