# SPDX-License-Identifier: Apache-2.0
"""What this service can install, as it was told at its start."""

from __future__ import annotations

from muster.frozen import dataclass


@dataclass(frozen=True)
class Offer:
    """A release that can be installed."""

    version: str
    image: str
    """The release image: by digest, wherever it comes from."""
    architectures: tuple[str, ...]
    title: str = ""
    is_default: bool = False


@dataclass(frozen=True)
class Offers:
    """All that can be installed, and what Muster itself is."""

    releases: tuple[Offer, ...] = ()
    components: tuple[tuple[str, str], ...] = ()
    """Parts of this service and their versions."""
    ntp_source: str = ""
