# SPDX-License-Identifier: Apache-2.0
"""What the tables of states ask of validations: whether all of a group pass, and which do not."""

from __future__ import annotations

from typing import Final

import msgspec


class HostFitness(msgspec.Struct, frozen=True, gc=False):
    """How fit a host is. What is pending does not pass."""

    min_hardware: bool
    """Its processors, memory, disks and platform are enough for any role."""
    required_input: bool
    """All that only a user can give is given."""
    sufficient: bool
    """Everything else that must hold before an installation starts."""
    prepare: bool
    """What is checked after the start: its disk is quick enough and it has the images."""
    failing: tuple[str, ...] = ()
    """The validations that do not pass and should."""


class ClusterFitness(msgspec.Struct, frozen=True, gc=False):
    """How fit a cluster is."""

    inputs: bool
    sufficient: bool
    failing: tuple[str, ...] = ()


UNASKED: Final = HostFitness(min_hardware=False, required_input=False, sufficient=False, prepare=False)
"""For hosts whose state does not depend on it."""
