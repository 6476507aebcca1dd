# SPDX-License-Identifier: Apache-2.0
"""Table of the ports that hosts accept connections on.

The host firewall (`muster.model.firewall`) and docs/reference/ports.md are rendered from it. A port that is
not listed is closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from muster.frozen import dataclass
from muster.model.meeting import ANNOUNCEMENT_GROUPS, ANNOUNCEMENT_PORT, JOIN_PORT, SERVICE_PORT
from muster.model.voters import CLIENT_PORT, PEER_PORT

API_PORT: Final = 6443


class System(StrEnum):
    """What a host runs."""

    LIVE = "live host"
    """A host that booted a medium. Any of them may become the rendezvous host."""
    RENDEZVOUS = "rendezvous node"
    """The node that was the rendezvous host during the installation, whatever its role is."""
    CONTROL_PLANE = "control-plane node"
    ARBITER = "arbiter node"
    WORKER = "worker node"


class Source(StrEnum):
    """Clients that a port is open for."""

    ANYONE = "anyone"
    HOSTS = "machine networks"
    """All addresses of the networks that the cluster's hosts are in."""
    MEMBERS = "members of etcd"
    """The control-plane and arbiter hosts, which all have fixed addresses."""
    PODS = "pods"
    """All addresses of the cluster's pod networks."""
    LINK = "same link"
    """Multicast, which no router forwards."""


class Protocol(StrEnum):
    """Transport protocol."""

    TCP = "tcp"
    UDP = "udp"


@dataclass(frozen=True)
class Port:
    """A port, or a range of ports."""

    protocol: Protocol
    number: int
    name: str
    systems: tuple[System, ...]
    sources: tuple[Source, ...]
    why: str
    last: int = 0
    """Last port of a range."""

    @property
    def text(self) -> str:
        """The number or range in nftables syntax."""
        return f"{self.number}-{self.last}" if self.last else str(self.number)


_CONTROL_PLANE: Final = (System.CONTROL_PLANE,)
_VOTERS: Final = (System.CONTROL_PLANE, System.ARBITER)
_PODS_HOSTS: Final = (System.CONTROL_PLANE, System.WORKER)
_NODES: Final = (System.CONTROL_PLANE, System.ARBITER, System.WORKER)
_ALL: Final = (System.LIVE, *_NODES)
_TO_ANYONE: Final = (Source.ANYONE,)
_TO_HOSTS: Final = (Source.HOSTS,)
_TO_MEMBERS: Final = (Source.MEMBERS,)
_TO_CLUSTER: Final = (Source.HOSTS, Source.PODS)

PORTS: Final = (
    Port(Protocol.TCP, 22, "SSH", _ALL, _TO_ANYONE, "Login of administrators as `core`; keys only."),
    Port(
        Protocol.TCP,
        SERVICE_PORT,
        "service",
        (System.LIVE, System.RENDEZVOUS),
        _TO_ANYONE,
        "API and web UI of the service (TLS, login): agents, browsers, `wait-for`. Only the rendezvous host "
        "listens, on the installed node until the cluster is complete.",
    ),
    Port(
        Protocol.TCP,
        JOIN_PORT,
        "join",
        (System.LIVE,),
        _TO_ANYONE,
        "Hosts of a generic medium join with a code (TLS). Only the rendezvous host listens.",
    ),
    Port(
        Protocol.UDP,
        ANNOUNCEMENT_PORT,
        "announcements",
        (System.LIVE,),
        (Source.LINK,),
        f"Rendezvous hosts announce themselves to {' and '.join(ANNOUNCEMENT_GROUPS)}.",
    ),
    Port(
        Protocol.UDP,
        123,
        "NTP",
        (System.LIVE,),
        _TO_ANYONE,
        "Time of the rendezvous host. The networks of the site are not known when the rules are loaded; "
        "chrony answers only those.",
    ),
    Port(
        Protocol.UDP,
        123,
        "NTP",
        _CONTROL_PLANE,
        _TO_HOSTS,
        "Time of the control plane for the other nodes of a site without time servers.",
    ),
    Port(
        Protocol.TCP,
        API_PORT,
        "Kubernetes API",
        _CONTROL_PLANE,
        _TO_ANYONE,
        "Administrators, load balancers, nodes and pods (TLS, authentication).",
    ),
    Port(
        Protocol.TCP,
        CLIENT_PORT,
        "etcd clients",
        _VOTERS,
        _TO_MEMBERS,
        "A host that is installed again asks the other members of etcd to replace it (client certificates).",
    ),
    Port(
        Protocol.TCP,
        PEER_PORT,
        "etcd peers",
        _VOTERS,
        _TO_MEMBERS,
        "Members of etcd replicate to each other (client certificates).",
    ),
    Port(
        Protocol.TCP,
        10250,
        "kubelet",
        _NODES,
        _TO_CLUSTER,
        "The API server reads logs and runs commands; metrics collectors read metrics (authentication).",
    ),
    Port(
        Protocol.TCP,
        10256,
        "kube-proxy health",
        _NODES,
        _TO_HOSTS,
        "Load balancers in the machine networks ask whether a node can take requests.",
    ),
    Port(
        Protocol.TCP,
        80,
        "ingress HTTP",
        _PODS_HOSTS,
        _TO_ANYONE,
        "Ingress controllers with ports of the host. Nothing listens without one.",
    ),
    Port(
        Protocol.TCP,
        443,
        "ingress HTTPS",
        _PODS_HOSTS,
        _TO_ANYONE,
        "Ingress controllers with ports of the host. Nothing listens without one.",
    ),
    Port(
        Protocol.TCP,
        9000,
        "host services",
        _NODES,
        _TO_CLUSTER,
        "Pods on the host network that serve the cluster, such as node-exporter (9100).",
        last=9999,
    ),
    Port(
        Protocol.TCP,
        30000,
        "node port health",
        _NODES,
        _TO_ANYONE,
        "Health checks of Services of type LoadBalancer, which kube-proxy answers. The node ports themselves "
        "are redirected to pods and need no row, in UDP too.",
        last=32767,
    ),
)


def ports_of(systems: tuple[System, ...]) -> Iterator[Port]:
    """The ports that are open on a host."""
    return (port for port in PORTS if not {*systems}.isdisjoint(port.systems))


def render_ports() -> str:
    """The table of docs/reference/ports.md, which has the text around it."""
    lines = ["| port | name | open on | open to | why |", "|---|---|---|---|---|"]
    lines += [
        f"| {port.protocol} {port.text} | {port.name} | {', '.join(port.systems)} "
        f"| {', '.join(port.sources)} | {port.why} |"
        for port in PORTS
    ]
    return "\n".join(lines) + "\n"
