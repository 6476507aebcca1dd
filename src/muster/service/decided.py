# SPDX-License-Identifier: Apache-2.0
"""What was decided because nobody said otherwise, and why: networks, roles, disks, names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from muster.model.wire.struct import Wire
from muster.service.state import Cluster, Host
from muster.service.states.words import name_of

_OF_HOSTS: Final = (
    ("role", "role_reason"),
    ("installation disk", "disk_reason"),
    ("hostname", "hostname_reason"),
)
GIVEN: Final = "given"
"""The reason of a value that somebody chose: there is nothing to explain."""


class Decided(Wire, frozen=True, kw_only=True):
    """A value that follows from something."""

    of: str
    """The cluster, or the name of a host."""
    what: str
    value: str
    reason: str


def decided(cluster: Cluster, hosts: Iterable[Host]) -> tuple[Decided, ...]:
    """Every value of a cluster and its hosts that nobody gave."""
    return (*_of_cluster(cluster), *(each for host in hosts for each in _of_host(host)))


def _of_cluster(cluster: Cluster) -> Iterator[Decided]:
    if cluster.machine_networks and cluster.machine_networks_reason:
        value = ", ".join(each.cidr or "" for each in cluster.machine_networks)
        yield Decided(
            of=cluster.name, what="machine networks", value=value, reason=cluster.machine_networks_reason
        )


def _of_host(host: Host) -> Iterator[Decided]:
    values = {
        "role": host.suggested_role if host.role == "auto-assign" else host.role,
        "installation disk": host.installation_disk_path,
        "hostname": host.requested_hostname,
    }
    for what, field in _OF_HOSTS:
        reason: str = getattr(host, field)
        if values[what] and reason and reason != GIVEN:
            yield Decided(of=name_of(host), what=what, value=values[what], reason=reason)
