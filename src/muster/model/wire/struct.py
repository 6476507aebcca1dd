# SPDX-License-Identifier: Apache-2.0
"""What all objects of the interface have in common."""

from __future__ import annotations

import msgspec


class Wire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An object as it goes over the wire; what is not set is left out."""
