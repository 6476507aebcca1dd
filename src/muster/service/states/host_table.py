# SPDX-License-Identifier: Apache-2.0
"""Which state of a host follows which: the rows are tried in order, and the first that fits is taken."""

from __future__ import annotations

from typing import Final

from muster.service.states.host_conditions import CONDITIONS
from muster.service.states.host_refresh import WHILE_BEFORE, WHILE_PREPARING, WHILE_RUNNING
from muster.service.states.host_rows import REGISTER, REPORTS, USERS
from muster.service.states.sight import HostSight
from muster.service.states.table import Table

STATES: Final = (
    *("discovering", "known", "disconnected", "insufficient", "disabled", "pending-for-input"),
    *("preparing-for-installation", "preparing-failed", "preparing-successful", "installing"),
    *("installing-in-progress", "installing-pending-user-action", "installed", "error", "cancelled"),
    *("resetting", "resetting-pending-user-action", "added-to-existing-cluster", "binding"),
    *("discovering-unbound", "known-unbound", "disconnected-unbound", "insufficient-unbound"),
    *("disabled-unbound", "unbinding", "unbinding-pending-user-action", "reclaiming", "reclaiming-rebooting"),
)
UNUSED: Final = frozenset({"disabled", "disabled-unbound", "resetting"})
"""Clients know these words; nothing leads there."""
FINAL: Final = frozenset({"installed", "added-to-existing-cluster"})
"""A host that got there is done."""
RESTING: Final = frozenset({"known", "known-unbound", "preparing-successful"})
"""It is the turn of its cluster, or of somebody with a cluster for it; the host itself waits for nothing."""

HOSTS: Final[Table[HostSight]] = Table(
    (*REGISTER, *REPORTS, *USERS, *WHILE_PREPARING, *WHILE_RUNNING, *WHILE_BEFORE), CONDITIONS
)
