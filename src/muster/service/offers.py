# SPDX-License-Identifier: Apache-2.0
"""What this service can install, as it was told at its start."""

from __future__ import annotations

import re

from muster.errors import UserError
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

    def find(self, version: str, architecture: str = "") -> Offer | None:
        """The release that a version means: that one, or the latest of its line; None when nothing is known.

        1.36 is the latest 1.36.x, and whether a v stands in front does not matter. UserError when there are
        releases, but not this one: better now than when hosts are ready to be installed.
        """
        if not self.releases:
            return None
        wanted = version.removeprefix("v")
        fitting = [each for each in self.releases if architecture in ("", *each.architectures)]
        exact = [each for each in fitting if each.version.removeprefix("v") == wanted]
        line = [each for each in fitting if each.version.removeprefix("v").startswith(f"{wanted}.")]
        if found := exact or sorted(line, key=_order):
            return found[-1]
        there = ", ".join(sorted({each.version for each in fitting})) or "none"
        raise UserError(
            f"there is no release {version}{architecture and f' for {architecture}'}; there are: {there}",
            hint="choose one of them, or start the service with the content store that has it (--release)",
        )


def _order(offer: Offer) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", offer.version)]
