# SPDX-License-Identifier: Apache-2.0
"""Host firewall of a node: which networks and hosts its ports are open to."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Final

from muster.model.firewall import RULES_FILE, Surroundings, render_node
from muster.model.host import Role
from muster.model.ignition import PUBLIC, Config, File
from muster.model.ports import System
from muster.model.values import Network
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
    systems = (_SYSTEMS[host.role], *((System.RENDEZVOUS,) if host == cluster.first else ()))
    pods = tuple(network.cidr for network in cluster.pods)
    return render_node(systems, Surroundings(_hosts(cluster), pods, vip_peers(cluster, host)))


def _hosts(cluster: Cluster) -> tuple[Network, ...]:
    """The machine networks, so that hosts that are added later are known, too; or else the known hosts."""
    own = (ip_network(address) for member in cluster.members for address in member.addresses)
    return cluster.machines or tuple(own)
