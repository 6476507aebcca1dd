# SPDX-License-Identifier: Apache-2.0
"""NTP for the lab's machines: a chronyd that tells the time of this machine, and never sets it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from muster.lab.services.service import Service

_CONFIG: Final = """\
# written by muster lab
local stratum 8
allow
cmdport 0
bindcmdaddress /
pidfile chronyd.pid
"""


def describe_chrony(*, program: Sequence[str]) -> Service:
    """chronyd with its configuration; it answers on all addresses of the namespace."""
    return Service(
        name="chrony",
        argv=(*program, "-x", "-d", "-u", "root", "-f", "chrony.conf"),
        ready="Disabled control of system clock",
        files=(("chrony.conf", _CONFIG),),
    )
