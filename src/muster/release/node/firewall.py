# SPDX-License-Identifier: Apache-2.0
"""Host firewall of a node: which networks and hosts its ports are open to."""

from __future__ import annotations

from typing import Final

from muster.model.firewall import RULES_FILE, Surroundings, render_node
from muster.model.host import Role
from muster.model.ignition import PUBLIC, Config, File
from muster.model.ports import System
from muster.release.node.cluster import Cluster, Member
from muster.release.node.vips import vip_peers

_SYSTEMS: Final = {
    Role.MASTER: System.CONTROL_PLANE,
    Role.ARBITER: System.ARBITER,
    Role.WORKER: System.WORKER,
}


def firewall(cluster: Cluster, host: Member) -> Config:
    """The rules, which muster-firewall.service of the machine OS loads before the network is up."""
    return Config((File(RULES_FILE, render_firewall(cluster, host).encode(), PUBLIC),))


def render_firewall(cluster: Cluster, host: Member) -> str:
    """The same as text."""
    systems = (_SYSTEMS[host.role], *((System.RENDEZVOUS,) if host.name == cluster.rendezvous else ()))
    around = Surroundings(
        hosts=cluster.machines,
        members=tuple(address for member in cluster.voters for address in member.addresses),
        pods=tuple(network.cidr for network in cluster.pods),
        services=cluster.services,
        vip_peers=vip_peers(cluster, host),
    )
    return render_node(systems, around)
