# SPDX-License-Identifier: Apache-2.0
"""What a medium says that makes a machine take the place of a host that was lost."""

from __future__ import annotations

from typing import Final

import msgspec

from muster.model.wire.enums import HostRole

REPLACEMENT_FILE: Final = "/etc/muster/replacement.json"
CONFIG_FILE: Final = "/etc/muster/replacement.ign"


class Replacement(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which host it is, and which machine may become it."""

    id: str
    """Names the medium: a disk that was written from it is not written from it again unasked."""
    hostname: str
    role: HostRole
    macs: tuple[str, ...] = ()
    """Those of the machine, in lower case; it has at least one of them."""
    addresses: tuple[str, ...] = ()
    """Its static ones, which nobody else may have."""
    hints: dict[str, str | int | bool] = {}
    """Which disk is written, by the names of `RootDeviceHints`; without any, the one that suits best."""
