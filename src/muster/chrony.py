# SPDX-License-Identifier: Apache-2.0
"""chrony, which keeps clocks right: its configuration, whom it follows, how a host tells others the time."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Final

from muster.frozen import dataclass
from muster.machine import Machine
from muster.run import Said

REST: Final = "driftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\nlogdir /var/log/chrony\n"
FROM_DHCP: Final = "sourcedir /run/chrony-dhcp\n"
LOCAL_STRATUM: Final = 10
"""How far from the truth a host with only its own clock says to be: whoever has a better one is believed."""
_TRACKING_COLUMNS: Final = 14
_DEADLINE_S: Final = 5.0


@dataclass(frozen=True)
class Tracking:
    """How far the clock is off, as `chronyc -c tracking` has it."""

    server: str
    """Empty as long as there is none, and where the host's own clock counts."""
    stratum: int
    offset_s: float
    """Positive if the clock is ahead of the time that its servers tell."""
    root_distance_s: float
    """At most so much the servers themselves may be off."""
    is_synced: bool


def parse_tracking(text: str) -> Tracking | None:
    """The clock; None if that is nothing that chrony says."""
    row = next(csv.reader(text.splitlines()), [])
    try:
        delay_s, dispersion_s = float(row[10]), float(row[11])
        # chrony tells what it still has to add to the clock.
        offset_s, stratum = -float(row[4]), int(row[2])
    except (ValueError, IndexError):
        return None
    if len(row) < _TRACKING_COLUMNS:
        return None
    is_synced = row[13] != "Not synchronised"
    return Tracking(row[1] if is_synced else "", stratum, offset_s, delay_s / 2 + dispersion_s, is_synced)


def render_servers(servers: Iterable[str]) -> str:
    """Lines of chrony.conf that name time servers."""
    return "".join(f"server {server} iburst\n" for server in servers)


async def find_server(machine: Machine, wait_s: int = 0) -> str:
    """The address of the server that the host's clock follows; empty when it follows none.

    A host that has servers, but not the time of any yet, may be given some seconds for it.
    """
    found = await _tracked(machine)
    if not found and wait_s and (await _ask(machine, "-c", "sources")).out.strip():
        await _ask(machine, "waitsync", str(wait_s), "0", "0", "1", deadline_s=wait_s + _DEADLINE_S)
        found = await _tracked(machine)
    return found


async def _tracked(machine: Machine) -> str:
    said = await _ask(machine, "-n", "-c", "tracking")
    tracking = parse_tracking(said.out) if said.is_ok else None
    return tracking.server if tracking is not None else ""


async def tell_time(machine: Machine, networks: Sequence[str]) -> str:
    """Have chrony tell these networks the time, if need be that of this host alone; what went wrong."""
    for words in (("local", "stratum", str(LOCAL_STRATUM)), *(("allow", network) for network in networks)):
        said = await _ask(machine, *words)
        if not said.is_ok:
            return said.trouble
    return ""


async def _ask(machine: Machine, *words: str, deadline_s: float = _DEADLINE_S) -> Said:
    return await machine.ask(["chronyc", *words], deadline_s=deadline_s)
