# SPDX-License-Identifier: Apache-2.0
"""Values that follow from others: what holds when a field is absent, and who plays which part.

Rules and plan use the same functions, so that what is checked is what is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_network
from typing import Final

from muster.frozen import dataclass
from muster.model.host import Role
from muster.model.install_config import InstallConfig
from muster.model.machine_pool import MachinePool
from muster.model.networking import ClusterNetwork, MachineNetwork, Networking
from muster.model.pki import Curve, KeyAlgorithm, KeySpec
from muster.model.platform.on_premises import LoadBalancerType
from muster.model.release import KUBERNETES, default_release_image, kind_of_image
from muster.model.schema import Items, Model
from muster.model.site import Site, SiteHost
from muster.model.tree import NOWHERE, Node
from muster.model.values import IP, Network

AGENT_PLATFORMS: Final = ("baremetal", "vsphere", "nutanix", "none", "external")
VIP_PLATFORMS: Final = ("baremetal", "vsphere", "nutanix")
USER_MANAGED_PLATFORMS: Final = ("none", "external")

DEFAULT_MACHINE_NETWORK: Final = ip_network("10.0.0.0/16")
DEFAULT_CLUSTER_NETWORK: Final = ip_network("10.128.0.0/14")
DEFAULT_HOST_PREFIX: Final = 23
DEFAULT_HOST_PREFIX_V6: Final = 64
DEFAULT_SERVICE_NETWORK: Final = ip_network("172.30.0.0/16")
DEFAULT_PROVISIONING_NETWORK: Final = ip_network("172.22.0.0/24")
DEFAULT_NETWORK_TYPE: Final = "OVNKubernetes"
DEFAULT_CONTROL_PLANE: Final = 3
DEFAULT_WORKERS: Final = 3
DEFAULT_RSA_BITS: Final = 2048


def platform_name(install: InstallConfig | None) -> str | None:
    """The platform that is set; None when there is none or more than one."""
    named = platform_names(install)
    return named[0] if len(named) == 1 else None


def platform_names(install: InstallConfig | None) -> list[str]:
    """All platforms that are set."""
    if install is None or install.platform is None:
        return []
    return [name for name in install.platform.places if install.platform.has(name)]


@dataclass(frozen=True)
class Counts:
    """How many hosts of each role a cluster has."""

    masters: int
    arbiters: int
    workers: int

    @property
    def total(self) -> int:
        return self.masters + self.arbiters + self.workers

    @property
    def single_node(self) -> bool:
        return self.masters == 1 and self.total == 1


def host_counts(install: InstallConfig | None) -> Counts:
    """The numbers that the machine pools ask for, or their defaults."""
    if install is None:
        return Counts(DEFAULT_CONTROL_PLANE, 0, 0)
    masters = _replicas(install.control_plane, DEFAULT_CONTROL_PLANE)
    arbiters = _replicas(install.arbiter, 0)
    if install.compute:
        workers = sum(_replicas(pool, DEFAULT_WORKERS) for pool in install.compute)
    else:
        workers = DEFAULT_WORKERS
    return Counts(masters, arbiters, workers)


def _replicas(pool: MachinePool | None, default: int) -> int:
    return default if pool is None or pool.replicas is None else max(pool.replicas, 0)


def architecture(install: InstallConfig | None) -> str:
    """The architecture of the control plane, as Go calls it."""
    pool = install.control_plane if install else None
    return str(pool.architecture) if pool and pool.architecture else "amd64"


def named_release(site: Site) -> str:
    """The release image that the environment or the manifests name; empty when they name none."""
    image_set = site.manifests.cluster_image_set if site.manifests else None
    named = image_set.spec.release_image if image_set and image_set.spec else None
    return site.environment.release_image or named or ""


def release_image(site: Site) -> str:
    """The release that is installed."""
    return named_release(site) or default_release_image(architecture(site.install))


def release_kind(site: Site) -> str:
    """The kind of release that hosts get; empty when its name does not tell.

    Hosts get the Kubernetes release of this Muster where neither a release nor a base image is named.
    """
    environment = site.environment
    if environment.release_kind:
        return environment.release_kind
    is_settled = environment.has_base_image or named_release(site)
    return kind_of_image(release_image(site)) if is_settled else KUBERNETES


def machine_networks(networking: Networking | None) -> Items[Network]:
    """The networks that the hosts stand in."""
    if networking and networking.machine_network:
        return _cidrs(networking.machine_network)
    if networking and networking.machine_cidr:
        return Items((networking.machine_cidr,), (networking.at("machine_cidr"),))
    return Items((DEFAULT_MACHINE_NETWORK,))


def settled_machine_networks(site: Site) -> Items[Network]:
    """The networks that the hosts stand in, as far as files tell.

    Manifests may leave them out: the service then takes those that the hosts and VIPs turn out to be in.
    """
    networks = machine_networks(site.install.networking if site.install else None)
    return Items() if site.is_lifted and is_default(networks) else networks


def likely_machine_networks(site: Site) -> Items[Network]:
    """Those networks, or the ones that static addresses of the hosts share with the VIPs or the meeting."""
    known = settled_machine_networks(site)
    if known:
        return known
    described = [host.network for host in site.hosts if host.network]
    own = [entry.network for network in described for _, entry in network.address_entries()]
    found, meeting = vips(site.install), rendezvous(site)
    for ips in ((*found.api, *found.ingress), (meeting.ip,) if meeting else ()):
        near = dict.fromkeys(net for ip in ips for net in own if net is not None and ip in net)
        if near:
            return Items(tuple(near))
    return Items()


def cluster_networks(networking: Networking | None) -> Items[Network]:
    """The networks that pods get addresses from."""
    if networking and networking.cluster_network:
        return _cidrs(networking.cluster_network)
    if networking and networking.cluster_networks:
        return _cidrs(networking.cluster_networks)
    return Items((DEFAULT_CLUSTER_NETWORK,))


def pod_networks(networking: Networking | None) -> list[tuple[Network, int, bool]]:
    """The pod networks with the prefix length of each host's part, and whether that was written."""
    entries = (networking.cluster_network or networking.cluster_networks) if networking else Items()
    found = []
    for entry in entries:
        if entry.cidr is not None:
            default = DEFAULT_HOST_PREFIX if entry.cidr.version == 4 else DEFAULT_HOST_PREFIX_V6
            prefix = host_prefix(entry)
            found.append((entry.cidr, prefix or default, prefix is not None))
    return found or [(DEFAULT_CLUSTER_NETWORK, DEFAULT_HOST_PREFIX, True)]


def host_prefix(entry: ClusterNetwork) -> int | None:
    """The prefix length of each host's part, whichever way it is written; None when it is not."""
    if entry.host_prefix is None and entry.host_subnet_length is not None and entry.cidr is not None:
        return entry.cidr.max_prefixlen - entry.host_subnet_length
    return entry.host_prefix


def service_networks(networking: Networking | None) -> Items[Network]:
    """The networks that services get addresses from."""
    if networking and networking.service_network:
        return networking.service_network
    if networking and networking.service_cidr:
        return Items((networking.service_cidr,), (networking.at("service_cidr"),))
    return Items((DEFAULT_SERVICE_NETWORK,))


def _cidrs(entries: Iterable[MachineNetwork | ClusterNetwork]) -> Items[Network]:
    found = [(entry.cidr, entry.at("cidr")) for entry in entries if entry.cidr is not None]
    return Items(tuple(cidr for cidr, _ in found), tuple(node for _, node in found))


@dataclass(frozen=True)
class Vips:
    """The addresses that move between control-plane hosts (API) and routers (ingress)."""

    api: Items[IP]
    ingress: Items[IP]
    user_managed: bool = False
    """A load balancer of the user's holds them, which is possible on platform baremetal only."""


def vips(install: InstallConfig | None) -> Vips:
    """The VIPs of the platform, whichever field they stand in."""
    name = platform_name(install)
    section = getattr(install.platform, name, None) if install and name in VIP_PLATFORMS else None
    if section is None:
        return Vips(Items(), Items())
    balancer = section.load_balancer if name == "baremetal" else None
    managed = balancer is not None and balancer.type is LoadBalancerType.USER_MANAGED
    return Vips(_vip_list(section, "api"), _vip_list(section, "ingress"), managed)


def _vip_list(section: Model, which: str) -> Items[IP]:
    current: Items[IP] = getattr(section, f"{which}_vips")
    old: IP | None = getattr(section, f"{which}_vip", None)
    if current or old is None:
        return current
    return Items((old,), (section.at(f"{which}_vip"),))


def roles(hosts: Sequence[SiteHost], counts: Counts) -> tuple[Role, ...]:
    """The role of each host: its own, else masters are filled first, then arbiters, then workers."""
    wanted = {Role.MASTER: counts.masters, Role.ARBITER: counts.arbiters}
    for host in hosts:
        if host.host.role in wanted:
            wanted[host.host.role] -= 1
    found = []
    for host in hosts:
        role = host.host.role
        if role is None:
            role = next((each for each, left in wanted.items() if left > 0), Role.WORKER)
            if role in wanted:
                wanted[role] -= 1
        found.append(role)
    return tuple(found)


@dataclass(frozen=True)
class Rendezvous:
    """The host that all others meet at."""

    ip: IP
    node: Node
    reason: str
    host: SiteHost | None = None
    """None when its address comes from DHCP, so that only the host itself can know."""


def rendezvous(site: Site) -> Rendezvous | None:
    """The host that is named, or the first that can be: rather one with an address in a machine network."""
    if site.agent is not None and site.agent.rendezvous_ip is not None:
        ip = site.agent.rendezvous_ip
        owner = next((host for host in site.hosts if ip in addresses(host)), None)
        return Rendezvous(ip, site.agent.at("rendezvous_ip"), "rendezvousIP names it", owner)
    networks = settled_machine_networks(site)
    found = [
        Rendezvous(address.ip, address.node, f"it has the first static address {words}", host)
        for wanted, words in (
            ((Role.MASTER, Role.ARBITER), "of a host with a control-plane role"),
            ((None,), "of a host without a role"),
        )
        for host in site.hosts
        if host.host.role in wanted and host.network is not None
        for address in host.network.addresses()
    ]
    inside = (each for each in found if any(each.ip in network for network in networks))
    return next(inside, found[0] if found else None)


def addresses(host: SiteHost) -> list[IP]:
    """The static addresses of a host."""
    return [ip for _, ip, _, _ in host.network.addresses()] if host.network else []


def is_default(items: Items[Network]) -> bool:
    """Whether networks were not written by the user but derived."""
    return all(node is NOWHERE for node in items.nodes)


def signer_key(install: InstallConfig | None) -> KeySpec:
    """The kind of key that the cluster's certificate authorities get."""
    signers = install.pki.signer_certificates if install and install.pki else None
    key = signers.key if signers else None
    if key is None or key.algorithm is None:
        return KeySpec()
    if key.algorithm is KeyAlgorithm.RSA:
        return KeySpec(KeyAlgorithm.RSA, bits=(key.rsa.key_size if key.rsa else None) or DEFAULT_RSA_BITS)
    return KeySpec(KeyAlgorithm.ECDSA, curve=(key.ecdsa.curve if key.ecdsa else None) or Curve.P384)
