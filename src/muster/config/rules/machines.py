# SPDX-License-Identifier: Apache-2.0
"""What the rules about machines look at: their addresses, networks and names, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeVar

from muster.config import derive
from muster.config.kinds import MANIFESTS_DIR
from muster.model.host import Interface as Card
from muster.model.nmstate import Address, Interface
from muster.model.schema import Model
from muster.model.site import Site, SiteHost
from muster.model.tree import Node
from muster.model.values import IP, Network, Secret

M = TypeVar("M", bound=Model)

UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
"""The form of ids; a regular expression."""
_BARE_DISK: Final = re.compile(
    r"(?:(?:sd|vd|xvd|dasd)[a-z]{1,2}|nvme[0-9]+n[0-9]+|mmcblk[0-9]+|dm-[0-9]+|md[0-9]+)\Z"
)


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
        return self.entry.network


def host_ips(site: Site) -> list[HostIP]:
    """The static addresses of all hosts, in the order of the file."""
    return [found for host in site.hosts for found in ips_of(host)]


def ips_of(host: SiteHost) -> list[HostIP]:
    """The static addresses of a host."""
    return [
        HostIP(host, interface, entry, entry.ip)
        for interface, entry in (host.network.address_entries() if host.network else ())
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


def is_empty(model: Model, name: str) -> bool:
    """Whether a field says nothing, or an empty text."""
    found = getattr(model, name)
    text = found.reveal() if isinstance(found, Secret) else found
    return not text and not model.is_unread(name)


def platform_section(site: Site, kind: type[M]) -> M | None:
    """The section of the platform of a cluster that is installed on hosts, if it is of this kind."""
    name = derive.platform_name(site.install) if is_agent_based(site) else None
    platform = site.install.platform if site.install else None
    section = getattr(platform, name, None) if name else None
    return section if isinstance(section, kind) else None


def is_uuid(text: str) -> bool:
    """Whether a text is an id like 8d2c6b1e-4f5a-4c3b-9e7d-0a1b2c3d4e5f."""
    return re.fullmatch(UUID, text) is not None


def is_bare_disk(text: str) -> bool:
    """Whether a text is the name of a whole disk that only lacks /dev/ in front."""
    return _BARE_DISK.match(text) is not None


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
