# SPDX-License-Identifier: Apache-2.0
"""What kind of service this is: for many clusters, or for the one whose hosts meet here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Literal, TypeAlias

from muster.frozen import dataclass
from muster.model.meeting import Meeting
from muster.service.derive.addresses import addressed
from muster.service.state import Host

Mode: TypeAlias = Literal["many", "site", "interactive", "status"]
"""many: for whoever comes; site: files say what its cluster is; interactive: people do, in a browser;
status: the host has restarted from its disk, and the installation is only looked at."""


@dataclass(frozen=True)
class House:
    """Whom a service is for."""

    mode: Mode = "many"
    meeting: Meeting | None = None
    """Where the hosts of its one cluster meet."""
    pull_secret: str = field(default="", repr=False)
    """What the medium brought; whoever gives none uses it."""
    admits_keyless: bool = False
    """Whether hosts may register without a key: agents of the assisted installer have none."""

    @property
    def rendezvous_ip(self) -> str:
        """The address that this host is known by."""
        return "" if self.meeting is None else str(self.meeting.ip)

    def is_rendezvous(self, host: Host) -> bool:
        """Whether the service runs on a host."""
        ip = self.rendezvous_ip
        return bool(ip) and any(address == ip for _, address, _ in addressed(host.inventory))

    def find_rendezvous(self, hosts: Iterable[Host]) -> str:
        """Id of the host that the service runs on; empty if it runs on none of them."""
        return next((host.id for host in hosts if self.is_rendezvous(host)), "")
