# SPDX-License-Identifier: Apache-2.0
"""How long steps take, how soon they are done again, and how soon a host asks again."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from muster.frozen import dataclass
from muster.service.state import Host

NEVER: Final = timedelta(days=3650)


@dataclass(frozen=True)
class Pace:
    """How a step is repeated."""

    deadline: timedelta
    """After so long it is not running any more."""
    again: timedelta
    """How soon it is done again while something is wrong."""
    calm: timedelta
    """How soon it is done again when all is well."""


def _pace(deadline_s: int, again_s: int, calm_s: int) -> Pace:
    return Pace(*(timedelta(seconds=each) for each in (deadline_s, again_s, calm_s)))


_ONCE: Final = Pace(timedelta(minutes=2), NEVER, NEVER)
PACES: Final = {
    "inventory": _pace(60, 60, 180),
    "connectivity-check": _pace(90, 30, 600),
    "ntp-synchronizer": _pace(40, 10, 300),
    "domain-resolution": _pace(60, 30, 300),
    "verify-vips": _pace(60, 30, 300),
    "free-network-addresses": _pace(180, 120, 600),
    "dhcp-lease-allocate": _pace(70, 30, 300),
    "tang-connectivity-check": _pace(60, 30, 600),
    "api-vip-connectivity-check": _pace(60, 20, 300),
    "installation-disk-speed-check": _pace(500, 300, 3600),
    "container-image-availability": _pace(980, 60, 3600),
    "install": _pace(60, 0, 0),
    "logs-gather": _pace(900, 60, 60),
    "stop-installation": _pace(60, 600, 3600),
    "upgrade-agent": _pace(600, 3600, 3600),
    "download-boot-artifacts": _pace(330, 30, 30),
    "reboot-for-reclaim": _ONCE,
}
BUSY: Final = frozenset(
    {
        *("discovering", "discovering-unbound", "disconnected", "disconnected-unbound", "installing"),
        *("preparing-for-installation", "preparing-successful", "reclaiming"),
    }
)
"""In these something is about to happen."""
_BUSY_S: Final = (1, 5)
_CALM_S: Final = (10, 60)
_WAITS_S: Final = 1


def deadline_of(step_type: str) -> timedelta:
    """How long a step may run."""
    return PACES[step_type].deadline


def repeat_after(step_type: str, host: Host, *, failed: bool) -> timedelta:
    """How soon a step is done again."""
    pace = PACES[step_type]
    return pace.again if failed or not _is_fine(step_type, host) else pace.calm


def _is_fine(step_type: str, host: Host) -> bool:
    if step_type == "ntp-synchronizer":
        return any(each.source_state == "synced" for each in host.ntp_sources or ())
    return host.status in ("known", "known-unbound")


def seconds_to_next(host: Host, hosts: int, *, is_busy: bool, waits: bool) -> int:
    """How soon a host is to ask again: hundreds of them a little later than three.

    One that waits for its answer comes back at once, because it is heard of things only while it waits.
    """
    if waits:
        return _WAITS_S
    if is_busy or host.status in BUSY:
        return min(max(_BUSY_S[0], hosts // 50), _BUSY_S[1])
    return min(max(_CALM_S[0], hosts // 5), _CALM_S[1])
