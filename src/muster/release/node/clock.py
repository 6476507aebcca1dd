# SPDX-License-Identifier: Apache-2.0
"""Where a node has its time from: the servers of the site, or else the control-plane hosts of the cluster.

Without servers the control-plane hosts agree on the clock of one of them (chrony's orphan mode), whichever of
them are there, and the other hosts follow. A server that DHCP names goes before that.
"""

from __future__ import annotations

from collections.abc import Iterator

from muster.chrony import FROM_DHCP, LOCAL_STRATUM, REST, render_servers
from muster.model.ignition import PUBLIC, Config, File
from muster.release.node.cluster import Cluster, Member


def clock(cluster: Cluster, host: Member) -> Config:
    """chrony's configuration; a host that is alone and has no servers keeps that of the system."""
    text = render_chrony(cluster, host)
    return Config((File("/etc/chrony.conf", text.encode(), PUBLIC),)) if text else Config()


def render_chrony(cluster: Cluster, host: Member) -> str:
    """The same as text."""
    if cluster.time_servers:
        return render_servers(cluster.time_servers) + REST
    if len(cluster.members) == 1:
        return ""
    return FROM_DHCP + "".join(_among_themselves(cluster, host)) + REST


def _among_themselves(cluster: Cluster, host: Member) -> Iterator[str]:
    others = (member for member in cluster.control_plane if member != host)
    yield render_servers(str(member.addresses[0]) for member in others)
    if host in cluster.control_plane:
        yield f"local stratum {LOCAL_STRATUM} orphan\n"
        for network in cluster.machines:
            yield f"allow {network}\n"
