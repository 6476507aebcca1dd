# SPDX-License-Identifier: Apache-2.0
"""What the rules about machines look at: their addresses, networks and names, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import NamedTuple

from muster.config import derive
from muster.config.document import edit
from muster.config.kinds import MANIFESTS_DIR
from muster.model.host import Interface as Card
from muster.model.networking import Networking
from muster.model.nmstate import Address, Interface
from muster.model.problem import Edit, Place
from muster.model.schema import Items
from muster.model.site import Site, SiteHost
from muster.model.tree import Map, Node, Scalar
from muster.model.values import IP, Network


class HostIP(NamedTuple):
    """A static address that a host will have."""

    host: SiteHost
    interface: Interface
    entry: Address
    ip: IP

    @property
    def node(self) -> Node:
        """Where the address is written."""
        return self.entry.at("ip")

    @property
    def network(self) -> Network | None:
        """The network that the host takes to be its own; None without a prefix length."""
        if self.entry.prefix_length is None:
            return None
        try:
            return ip_network(f"{self.ip}/{self.entry.prefix_length}", strict=False)
        except ValueError:
            return None


def host_ips(site: Site) -> list[HostIP]:
    """The static addresses of all hosts, in the order of the file."""
    return [found for host in site.hosts for found in ips_of(host)]


def ips_of(host: SiteHost) -> list[HostIP]:
    """The static addresses of a host."""
    return [
        HostIP(host, interface, entry, entry.ip)
        for interface in (host.network.interfaces if host.network else ())
        for settings in (interface.ipv4, interface.ipv6)
        if interface.is_up and settings is not None and settings.enabled
        for entry in settings.address
        if entry.ip is not None
    ]


def is_dynamic(host: SiteHost, version: int | None = None) -> bool:
    """Whether a host may have addresses (of an IP version) that are not written down."""
    if host.network is None:
        return True
    for interface in host.network.interfaces:
        four, six = interface.ipv4, interface.ipv6
        if not interface.is_up:
            continue
        if version != 6 and four and four.enabled and four.dhcp:
            return True
        if version != 4 and six and six.enabled and (six.dhcp or six.autoconf):
            return True
    return False


def cards(site: Site) -> Iterator[tuple[SiteHost, Card]]:
    """The network cards of all hosts."""
    for host in site.hosts:
        for card in host.host.interfaces:
            yield host, card


def is_agent_based(site: Site) -> bool:
    """Whether the site describes a cluster that is installed on hosts which boot the image."""
    return site.install is not None and site.image_based is None and not adds_nodes(site)


def adds_nodes(site: Site) -> bool:
    """Whether the hosts join a cluster that runs already."""
    joining = site.nodes.hosts if site.nodes else ()
    return any(each is site.hosts[0].host for each in joining) if site.hosts else False


def is_file(path: str, name: str) -> bool:
    """Whether a path is that of a site's file, or where the first preview of the installer kept it."""
    return path in (name, f"{MANIFESTS_DIR}/{name}")


def are_roles_known(site: Site) -> bool:
    """Whether all that decides about the roles of hosts could be read."""
    install = site.install
    if install is None or any(host.host.is_unread("role") for host in site.hosts):
        return False
    if any(install.is_unread(name) for name in ("control_plane", "arbiter", "compute")):
        return False
    pools = [pool for pool in (install.control_plane, install.arbiter, *install.compute) if pool]
    return derive.host_counts(install).masters > 0 and not any(pool.is_unread("replicas") for pool in pools)


def known_machine_networks(site: Site) -> Items[Network] | None:
    """The networks that the hosts have to be in; None when they could not be read."""
    install = site.install
    if install is None or install.is_unread("networking"):
        return None
    networking = install.networking or Networking()
    if networking.is_unread("machine_network") or networking.is_unread("machine_cidr"):
        return None
    if any(entry.cidr is None for entry in networking.machine_network):
        return None
    return derive.machine_networks(networking)


def inner_networks(site: Site) -> list[tuple[str, Items[Network]]]:
    """The networks that exist only inside the cluster, by the field that names them."""
    install = site.install
    if install is None or install.is_unread("networking"):
        return []
    networking = install.networking or Networking()
    found = []
    for names, key, derived in (
        (("cluster_network", "cluster_networks"), "clusterNetwork", derive.cluster_networks),
        (("service_network", "service_cidr"), "serviceNetwork", derive.service_networks),
    ):
        if not any(networking.is_unread(name) for name in names):
            found.append((key, derived(networking)))
    return found


def network_words(networks: Items[Network]) -> str:
    """Networks as messages name them."""
    words = ", ".join(map(str, networks))
    return f"{words} (the default)" if derive.is_default(networks) else words


def line_of(node: Node) -> int:
    """The line that a value stands on."""
    return Place.of(node).position[0]


def first_key(node: Node) -> Place:
    """The first line of a document or entry."""
    start = node.start
    end = node.source.text.find("\n", start)
    return Place(node.source, start, len(node.source.text) if end < 0 else end)


def replace_text(node: Node, text: str) -> tuple[Edit, ...]:
    """Say ``text`` where a scalar stands; nothing when its place does not hold it (JSON in an annotation)."""
    if not isinstance(node, Scalar):
        return ()
    written = node.source.text[node.start : node.end].strip()
    return edit.replace_scalar(node, text) if written.strip("'\"") == node.text else ()


def insert_first(node: Node, text: str) -> tuple[Edit, ...]:
    """Add a line before the first key of a mapping."""
    if not isinstance(node, Map) or node.flow or not node.items:
        return ()
    source = node.source
    line, column = source.position(node.start)
    if node.key is not None and source.position(node.key.start)[0] == line:
        return ()
    indent = "".join(char if char == " " else " " for char in source.line(line)[: column - 1])
    return (Edit(source, node.start, node.start, f"{text}{edit.newline(source)}{indent}"),)


def insert_beside(node: Node, text: str) -> tuple[Edit, ...]:
    """Add a line below the one-line value of a key, as deep as the key."""
    key = node.key
    if key is None or edit.in_flow(key) or not isinstance(node, Scalar):
        return ()
    source = node.source
    if source.position(key.start)[0] != source.position(node.end)[0]:
        return ()
    indent = " " * (source.position(key.start)[1] - 1)
    at = edit.block_end(node)
    new_line = edit.newline(source)
    if at == len(source.text) and not source.text.endswith("\n"):
        return (Edit(source, at, at, f"{new_line}{indent}{text}"),)
    return (Edit(source, at, at, f"{indent}{text}{new_line}"),)


def remove_item(node: Node) -> tuple[Edit, ...]:
    """Remove an entry of a list that has a line of its own."""
    source = node.source
    line = source.position(node.start)[0]
    start = source.line_starts[line - 1]
    if source.text[start : node.start].strip() != "-" or source.position(node.end)[0] != line:
        return ()
    return (Edit(source, start, edit.block_end(node), ""),)
