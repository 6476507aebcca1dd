# SPDX-License-Identifier: Apache-2.0
"""Where a host gets the time from."""

from __future__ import annotations

from muster.chrony import REST, render_servers
from muster.image.credentials import Credentials
from muster.model.ignition import PUBLIC, Config, File
from muster.model.plan import Plan


def clock(plan: Plan, _credentials: Credentials) -> Config:
    """chrony asks the site's servers; without any the system's defaults stay."""
    return Config(clock_files(plan.ntp_sources))


def clock_files(servers: tuple[str, ...]) -> tuple[File, ...]:
    """The file of chrony, if there are servers to name in it."""
    return (File("/etc/chrony.conf", render_chrony(servers).encode(), PUBLIC),) if servers else ()


def render_chrony(servers: tuple[str, ...]) -> str:
    """chrony.conf with these servers and no others."""
    return render_servers(servers) + REST
